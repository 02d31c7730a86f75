use std::path::{Path, PathBuf};

use clap::Parser;
use pulldown_cmark::{CodeBlockKind, Event, Options, Tag, TagEnd};

use crate::sandbox::Sandbox;

/// Commands that open a browser, or are about this machine: their words are checked, they are not run here.
const NOT_RUN: &[&str] = &["demo", "doctor", "explore", "flow", "heal", "rerun", "resume", "run", "verify"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files whose commands and links must be true.
fn documents() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md"].iter().map(PathBuf::from).collect();
    for entry in std::fs::read_dir(root().join("skills")).expect("skills/") {
        let folder = entry.expect("an entry").file_name();
        paths.push(Path::new("skills").join(folder).join("SKILL.md"));
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(root().join(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

/// A line as a shell reads it: words, quotes taken off, up to a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(mark), _) if letter == mark => quote = None,
            (None, '"' | '\'') => (quote, begun) = (Some(letter), true),
            (None, '#' | '>' | '|') if !begun => return words,
            (None, ' ') if begun => {
                words.push(std::mem::take(&mut word));
                begun = false;
            }
            (None, ' ') => {}
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// The commands of a Markdown text: lines of code blocks, and code in running text, that begin with `agent-test `.
fn commands(text: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut blocks, mut inline) = (Vec::new(), Vec::new());
    let mut shell = false;
    for event in pulldown_cmark::Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => shell = &*info == "sh",
            Event::End(TagEnd::CodeBlock) => shell = false,
            Event::Text(text) if shell => {
                let lines = text.lines().filter(|line| line.starts_with("agent-test "));
                blocks.extend(lines.map(words));
            }
            Event::Code(code) if code.starts_with("agent-test ") => inline.push(words(&code)),
            _ => {}
        }
    }
    (blocks, inline)
}

#[test]
fn every_command_is_one_of_the_program() {
    let mut seen = 0;
    for (name, text) in documents() {
        let (blocks, inline) = commands(&text);
        for command in blocks.iter().chain(&inline) {
            // A command alone may be named without what it needs.
            let alone = command.len() == 2;
            if let Err(error) = agent_test::cli::Cli::try_parse_from(command) {
                use clap::error::ErrorKind::{
                    DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion, MissingRequiredArgument,
                };
                let fine = matches!(error.kind(), DisplayHelp | DisplayVersion)
                    || alone
                        && matches!(error.kind(), MissingRequiredArgument | DisplayHelpOnMissingArgumentOrSubcommand);
                assert!(fine, "{name}: {}\n{error}", command.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn the_readmes_commands_work_in_the_order_in_which_they_stand() {
    let sandbox = Sandbox::new();
    sandbox.write("routes.txt", "/\n/orders\n/orders/1001\n/settings/general\n");
    sandbox.write(
        ".agent-test/runs/2026-05-02T10-15-00Z.json",
        r#"{"baseUrl": "http://localhost:5000", "flows": [], "bugs": [{"description": "It throws", "severity": "minor",
            "fingerprintV2": "39e8d6d4f2817dd9", "trace": [{"index": 0, "tool": "goto", "value": "http://localhost:5000/",
            "status": "failed"}]}]}"#,
    );
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let flow = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a flow");
    agent_test::flow::parse("flows/readme.yaml", flow).expect("the README's flow is one");
    sandbox.write("flows/front.yaml", "steps:\n  - open: /\n  - expect: { role: heading, text: Shop }\n");
    let mut run = 0;
    for command in commands(&readme).0 {
        if NOT_RUN.contains(&command[1].as_str()) {
            continue;
        }
        let arguments: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        let answer = sandbox.run(&arguments);
        // Ending with 1 is the answer of a report on routes that are not tested, not a failure.
        assert!(answer.code <= 1 && answer.code >= 0, "{}\n{}{}", command.join(" "), answer.stdout, answer.stderr);
        run += 1;
    }
    assert!(run >= 8, "{run}");
}

#[test]
fn the_readmes_settings_are_read() {
    let sandbox = Sandbox::new();
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let files: Vec<&str> = readme.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!files.is_empty());
    for file in files {
        sandbox.write("agent-test.toml", file);
        let config = agent_test::settings::Config::from_file(sandbox.path());
        assert!(config.is_ok(), "{file}\n{config:?}");
    }
}

#[test]
fn every_link_to_a_file_leads_somewhere() {
    for (name, text) in documents() {
        let folder = root().join(&name).parent().expect("a folder").to_path_buf();
        for event in pulldown_cmark::Parser::new_ext(&text, Options::ENABLE_TABLES) {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
            let file = dest_url.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            assert!(folder.join(file).exists(), "{name} links to {dest_url}, which does not exist");
        }
    }
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    assert_eq!(words("agent-test init --select \"1-5,9\" # some"), ["agent-test", "init", "--select", "1-5,9"]);
    assert_eq!(words("agent-test completions bash > file"), ["agent-test", "completions", "bash"]);
    assert_eq!(words("agent-test explore '/#/a'"), ["agent-test", "explore", "/#/a"]);
}
