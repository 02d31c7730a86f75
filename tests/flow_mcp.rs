//! An MCP client finishes the hand-off of a flow: the same record, the same recording.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::flow_kit::{Lab, by_goal, names};
use crate::model_kit::{ModelServer, Reply};
use crate::sandbox::{Answer, Sandbox};

struct Client {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(sandbox: &Sandbox, lab: &Lab) -> Self {
        let mut child = sandbox
            .command(&["mcp", "--base-url", &lab.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (ask, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, ask, answers, next: 0 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let told = client.request("initialize", hello);
        assert_eq!(told["serverInfo"]["name"], "agent-test", "{told}");
        writeln!(client.ask, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
        client
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        writeln!(self.ask, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).unwrap();
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the server went away");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }

    /// A tool's answer as text, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        (
            result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned(),
            result["isError"] == true,
        )
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn page(path: &str, mode: &str) -> Option<String> {
    let label = if mode == "renamed" { "Redeem" } else { "Apply" };
    (path == "/checkout").then(|| {
        format!("<h1>Checkout</h1><label>Code <input></label><button onclick=\"did('{label}'); say('10% off')\">{label}</button><p role=status id=out></p>")
    })
}

#[test]
fn a_client_gets_the_hand_off_acts_and_is_recorded() {
    let lab = Lab::start(page);
    let sandbox = Sandbox::new();
    sandbox.write("flows/a.yaml", "steps:\n  - open: /checkout\n  - act: \"type 'SUMMER' into 'Code'; tap 'Apply'\"\n  - expect: { role: status, text: 10% off }\n");
    let model = ModelServer::start(&[Reply::Make(by_goal)]);
    let first: Answer =
        model.command(&sandbox, "openai", &lab.arguments(&["--cache", "read-write"])).output().unwrap().into();
    first.exits(0);
    lab.set("renamed");
    let mut client = Client::start(&sandbox, &lab);
    let tools = client.request("tools/list", json!({}));
    let mut listed: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["done", "flow", "move", "press", "screen", "select", "tap", "type"]);
    let (told, error) = client.call("flow", json!({ "files": ["flows"], "fast_miss": true }));
    assert!(!error && told.contains("Replay stopped (target-not-found) after 1 of 2 recorded actions."), "{told}");
    assert!(told.contains("1. type \"SUMMER\" into textbox \"Code\"") && told.contains("<<<DATA "), "{told}");
    assert_eq!(client.call("screen", json!({})).0, told);
    let (refused, error) = client.call("tap", json!({ "number": 999 }));
    assert!(error && refused.contains("999"), "{refused}");
    let line = told.lines().find(|line| line.contains("button \"Redeem\"")).unwrap();
    let number: u64 = line.split('.').next().unwrap().parse().unwrap();
    let (told, error) = client.call("tap", json!({ "number": number }));
    assert!(!error && told.contains("10% off"), "{told}");
    let (told, error) = client.call("done", json!({ "passed": true, "reason": "the discount shows" }));
    assert!(
        !error && told.contains("passed a") && told.contains("1 handed off") && told.contains("exit code 0"),
        "{told}"
    );
    assert_eq!(lab.pressed().last().map(String::as_str), Some("Redeem"));
    assert_eq!(names(&sandbox, ".agent-test/cache-proposals").len(), 1, "read-only in CI: proposed");
    assert!(client.call("tap", json!({ "number": 1 })).1, "no step waits any more");
}
