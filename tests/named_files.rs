//! Files that the caller names: whatever stands there, each command says what it is and what to do, and ends with 2.

use crate::sandbox::Sandbox;

/// One command per room that reads a file by its name; `X` stands for the name.
const READERS: [&[&str]; 8] = [
    &["discover", "--from-list", "X"],
    &["init", "--base-url", "http://h", "--all", "--route-map", "X"],
    &["flow", "X", "--base-url", "http://127.0.0.1:9"],
    &["complete", "/a", "--report", "X"],
    &["heal", "--check", "X", "X"],
    &["heal", "--tiers", "X", "a.spec.ts", "--", "true"],
    &["vrt", "review", "X", "X", "X"],
    &["cache", "explain", "X"],
];

#[cfg(unix)]
#[test]
fn what_is_no_readable_file_is_refused_by_every_command_with_a_hint() {
    for name in ["a-directory", "a-pipe", "a-loop", "a-dangling-link", "missing", "no-directory/below"] {
        for reader in READERS {
            let sandbox = crate::campaign_kit::campaign(&["/a"]);
            sandbox.write("a.spec.ts", "test('x', async () => {});\n");
            sandbox.write("no-directory", "");
            std::fs::create_dir(sandbox.file("a-directory")).unwrap();
            std::os::unix::fs::symlink("a-loop", sandbox.file("a-loop")).unwrap();
            std::os::unix::fs::symlink("gone", sandbox.file("a-dangling-link")).unwrap();
            let made = std::process::Command::new("mkfifo").arg(sandbox.file("a-pipe")).status().unwrap();
            assert!(made.success());
            let arguments: Vec<&str> = reader.iter().map(|&word| if word == "X" { name } else { word }).collect();
            let answer = sandbox.run(&arguments);
            assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.stderr);
            assert!(answer.stderr.contains(name), "{arguments:?}: {}", answer.stderr);
            assert!(answer.stderr.contains("hint:"), "{arguments:?}: {}", answer.stderr);
        }
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_refused_with_the_place_and_a_hint() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.file("utf16"), [0xff, 0xfe, b'/', 0, b'a', 0]).unwrap();
    for arguments in [&["discover", "--from-list", "utf16"][..], &["flow", "utf16", "--base-url", "http://127.0.0.1:9"]]
    {
        let told = sandbox.run(arguments).exits(2).stderr;
        assert!(told.contains("`utf16`") && told.contains("UTF-8") && told.contains("byte 1"), "{told}");
        assert!(told.contains("hint:"), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_an_end_is_not_read() {
    let told = Sandbox::new().run(&["vrt", "review", "/dev/zero", "/dev/zero"]).exits(2).stderr;
    assert!(told.contains("neither a file nor a directory"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_could_not_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = Sandbox::new().command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    }
}

#[test]
fn a_comparison_outside_of_git_says_what_to_do_instead() {
    let told = Sandbox::new().run(&["heal", "--check", "--base", "main"]).exits(2).stderr;
    assert!(told.contains("no git repository") && told.contains("hint:"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_whose_name_is_not_utf_8_is_written_to_and_told() {
    use std::os::unix::ffi::OsStrExt;
    for arguments in [&["man", "--json", "--out"][..], &["schema", "--all", "--json", "--out"]] {
        let sandbox = Sandbox::new();
        let name = std::ffi::OsStr::from_bytes(b"of\xff");
        let answer: crate::sandbox::Answer = sandbox.command(arguments).arg(name).output().unwrap().into();
        assert!(!answer.exits(0).json()["files"].as_array().unwrap().is_empty(), "{arguments:?}");
        assert!(sandbox.path().join(name).is_dir());
    }
}
