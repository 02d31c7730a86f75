use clap::CommandFactory;

use crate::sandbox::Sandbox;

/// The words after `agent-test` of every command that is not hidden, parents first.
fn commands() -> Vec<Vec<String>> {
    fn collect(command: &clap::Command, words: &[String], into: &mut Vec<Vec<String>>) {
        into.push(words.to_vec());
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            collect(inner, &[words, &[inner.get_name().to_owned()]].concat(), into);
        }
    }
    let mut all = Vec::new();
    collect(&agent_test::cli::Cli::command(), &[], &mut all);
    all
}

#[test]
fn the_help_of_every_command() {
    let sandbox = Sandbox::new();
    let mut reference = String::new();
    for command in commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let answer =
            sandbox.command(&words).env_remove("AGENT_TEST_PROJECT_DIR").output().expect("the built binary starts");
        assert_eq!(answer.status.code(), Some(0), "{words:?}");
        let help = String::from_utf8(answer.stdout).expect("UTF-8");
        // The options that every command takes are shown once.
        let shown = match help.split_once("\nGlobal options:") {
            Some((own, _)) if !command.is_empty() => own,
            _ => &help,
        };
        let lines: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
        reference.push_str(&format!("## agent-test {}\n\n{}\n\n", command.join(" "), lines.join("\n")));
    }
    insta::assert_snapshot!(reference);
}

#[test]
fn every_command_and_argument_says_what_it_is() {
    fn look(command: &clap::Command) {
        let name = command.get_name();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.'), "{name}: `{about}`");
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty() && !help.ends_with('.'), "{name} {}: `{help}`", argument.get_id());
        }
        command.get_subcommands().filter(|inner| !inner.is_hide_set()).for_each(look);
    }
    look(&agent_test::cli::Cli::command());
}

#[test]
fn a_line_without_a_command_points_to_the_list_and_names_nothing_hidden() {
    let sandbox = Sandbox::new();
    for arguments in [&["--json"][..], &["--quiet"], &["--json", "review"]] {
        let answer = sandbox.run(arguments).exits(2);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(said.contains("--help") && !said.contains("__"), "{said}");
    }
}

#[test]
fn each_shell_gets_a_completion_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("discover") && script.contains("agent-test"), "{shell}");
        let json = sandbox.run(&["completions", shell, "--json"]).exits(0).json();
        assert_eq!(json["shell"], shell);
    }
    sandbox.run(&["completions", "nonsense"]).exits(2);
}

#[test]
fn bash_accepts_its_completion_script() {
    let sandbox = Sandbox::new();
    let script = sandbox.run(&["completions", "bash"]).exits(0).stdout;
    sandbox.write("script", &script);
    let status = std::process::Command::new("bash").arg("-n").arg(sandbox.file("script")).status().expect("bash");
    assert!(status.success());
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man"]).exits(0).stdout;
    assert!(page.contains(".TH agent-test 1") && page.contains("agent\\-test\\-claim(1)"), "{page}");
    let answer = sandbox.run(&["man", "--out", "pages", "--json"]).exits(0).json();
    let files = answer["files"].as_array().expect("files");
    assert_eq!(files.len(), commands().len());
    assert!(sandbox.read("pages/agent-test-review-complete.1").contains("\\-\\-bug\\-report"));
}
