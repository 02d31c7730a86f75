//! An external program in place of a model: one JSON document in, one out.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::question::Prompt;
use crate::child::ProcessGroup;

const MOST_BYTES: usize = 4 << 20;
/// So much of what it says on stderr is shown.
const TAIL: usize = 1000;
/// What the program does not need to know.
const SECRETS: [&str; 2] = [crate::env::PASSWORD, crate::env::MONKEY_PASSWORD];

/// Asks the program; gives back what it wrote on stdout.
pub(super) async fn ask(
    command: &str,
    purpose: &str,
    prompt: &Prompt,
    schema: &Value,
    limit: Duration,
) -> Result<String, String> {
    let question = json!({
        "version": 1,
        "purpose": purpose,
        "instructions": prompt.system,
        "question": prompt.user,
        "schema": schema,
        "pictures": prompt.pictures.iter().map(|data| json!({ "contentType": "image/png", "base64": data })).collect::<Vec<_>>(),
    });
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in SECRETS {
        shell.env_remove(name);
    }
    let mut child = shell.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    // Whatever it leaves running dies with the question.
    let group = ProcessGroup::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let talk = async {
        let tell = async {
            if let Some(mut stdin) = stdin {
                // A program that does not want to hear it all may still answer.
                let _ = stdin.write_all(question.to_string().as_bytes()).await;
                let _ = stdin.shutdown().await;
            }
        };
        let ((), said, complaint) = tokio::join!(tell, read(stdout, MOST_BYTES), read(stderr, MOST_BYTES));
        (said, complaint, child.wait().await)
    };
    let ended = tokio::time::timeout(limit, talk).await;
    drop(group);
    let Ok((said, complaint, status)) = ended else {
        return Err(format!("did not answer within {} s and was ended", limit.as_secs()));
    };
    let status = status.map_err(|error| format!("cannot be waited for: {error}"))?;
    let complaint = String::from_utf8_lossy(&complaint.unwrap_or_default()).into_owned();
    if !status.success() {
        return Err(format!("ended with {status}{}", tail(&complaint)));
    }
    let said = said.ok_or_else(|| format!("answered more than {} MiB", MOST_BYTES >> 20))?;
    match String::from_utf8(said) {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        Ok(_) => Err(format!("answered nothing{}", tail(&complaint))),
        Err(_) => Err("answered something that is no text".to_owned()),
    }
}

/// Reads to the end, but not more than this; none: there was more.
async fn read(stream: Option<impl AsyncRead + Unpin>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(most as u64 + 1).read_to_end(&mut bytes).await;
    }
    (bytes.len() <= most).then_some(bytes)
}

fn tail(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = line.char_indices().rev().nth(TAIL - 1).map_or(0, |(index, _)| index);
    match line.get(start..) {
        Some(text) if !text.is_empty() => format!(": {text}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(command: &str, limit: Duration) -> Result<String, String> {
        let prompt = Prompt { system: "s".into(), user: "u".into(), pictures: Vec::new() };
        ask(command, "p", &prompt, &json!({ "type": "object" }), limit).await
    }

    #[tokio::test]
    async fn a_program_gets_the_question_and_its_output_is_the_answer() {
        let limit = Duration::from_secs(20);
        let answer = told("cat", limit).await.unwrap();
        let document: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&document["purpose"], &document["question"]), (&"p".into(), &"u".into()));
        assert_eq!(told("echo '{}'", limit).await.unwrap().trim(), "{}");
    }

    #[tokio::test]
    async fn a_program_that_fails_says_why_and_one_that_hangs_is_ended_with_its_children() {
        let failed = told("echo no luck >&2; exit 7", Duration::from_secs(20)).await.unwrap_err();
        assert!(failed.contains('7') && failed.contains("no luck"), "{failed}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let command = format!("(sleep 600 & echo $! > {}; wait)", file.path().display());
        let late = told(&command, Duration::from_secs(1)).await.unwrap_err();
        assert!(late.contains("within 1 s"), "{late}");
        let child: i32 = std::fs::read_to_string(file.path()).unwrap().trim().parse().unwrap();
        let gone = || crate::store::process_stat(child.cast_unsigned()).is_none_or(|stat| !stat.runs);
        let start = std::time::Instant::now();
        while !gone() && start.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(gone(), "the child of the program still runs");
    }
}
