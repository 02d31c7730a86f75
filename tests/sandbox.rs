//! A project directory of its own for one test, and the built binary started in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One test's project directory, gone when the test ends.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// What a command answered.
pub struct Answer {
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Answer {
    /// The one JSON document on stdout.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is not one JSON document ({error}):\n{}\n{}", self.stdout, self.stderr)
        })
    }

    /// Fails the test unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Sandbox {
    /// An empty project.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Another project with the same files.
    pub fn copy(&self) -> Self {
        fn copy_tree(from: &Path, to: &Path) {
            std::fs::create_dir_all(to).expect("a folder");
            for entry in std::fs::read_dir(from).expect("a folder").flatten() {
                let target = to.join(entry.file_name());
                if entry.file_type().expect("a kind").is_dir() {
                    copy_tree(&entry.path(), &target);
                } else {
                    std::fs::copy(entry.path(), target).expect("a copy");
                }
            }
        }
        let copy = Self::new();
        copy_tree(self.path(), copy.path());
        copy
    }

    /// The project's root.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A file of the project.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file of the project, making its folders.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("a written file");
    }

    /// Reads a file of the project.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program, not yet started, with a clean environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-test"));
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("AGENT_TEST_PROJECT_DIR", self.dir.path())
            .env("CI", "true");
        command
    }

    /// Starts the program and waits for its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).output().expect("the built binary starts").into()
    }
}
