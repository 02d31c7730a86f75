//! The Playwright script that plays a trace beside ours: one process of Node.js that waits for traces.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use agent_test::browser::driver::find_browser;
use serde_json::Value;

/// The script, which waits for traces.
pub struct Script {
    child: std::process::Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Script {
    /// Starts it with the browser that is found.
    pub fn start() -> Self {
        let npm = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
        let mut child = Command::new("node")
            .arg(npm.join("bench.mjs"))
            .arg(find_browser(None).expect("a browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts: run `sh scripts/setup.sh node`");
        let (ask, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, ask, answers }
    }

    /// Milliseconds of the steps, and of the fresh context.
    pub fn play(&mut self, trace: &impl serde::Serialize) -> [f64; 2] {
        writeln!(self.ask, "{}", serde_json::to_string(trace).unwrap()).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        [answer["steps"].as_f64().unwrap_or_else(|| panic!("{line}")), answer["context"].as_f64().unwrap()]
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
