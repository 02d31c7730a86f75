//! Sends one request to a provider, and again a few times where that may help. Knows nothing of its shape.

use std::time::{Duration, SystemTime};

use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;

use super::wire::{self, Request};

/// Largest body that is read.
const MOST_BYTES: usize = 4 << 20;
/// A provider that asks to wait longer than this is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// How one request ended.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    /// With an answer.
    Answer(Value),
    /// It will be refused again.
    Refused { status: u16, message: String },
    /// Another try may help.
    Again {
        message: String,
        /// How long the provider asks to wait.
        after: Option<Duration>,
        /// Whether the provider may have worked (and charged) for it.
        may_cost: bool,
    },
}

/// A client that takes no key anywhere else.
pub(super) fn client(limit: Duration) -> Result<Client, String> {
    crate::browser::install_tls();
    Client::builder()
        .redirect(Policy::none())
        .connect_timeout(limit.min(Duration::from_secs(15)))
        .timeout(limit)
        .user_agent(concat!("agent-test/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

/// Sends it once.
pub(super) async fn send(client: &Client, request: &Request, key: Option<&str>) -> Sent {
    let mut call = client.post(request.url.clone()).json(&request.body);
    for (name, value) in &request.headers {
        call = call.header(*name, value);
    }
    let again = |message: String, may_cost| Sent::Again { message: clean(&message, key), after: None, may_cost };
    let answer = match call.send().await {
        Ok(answer) => answer,
        Err(error) => return again(told(&error), error.is_timeout()),
    };
    let status = answer.status();
    let after = pause(&answer);
    let body = match read(answer).await {
        Ok(body) => body,
        Err(problem) => return again(problem, status.is_success()),
    };
    let value: Option<Value> = serde_json::from_slice(&body).ok();
    if status.is_success() {
        return match value {
            Some(value) => Sent::Answer(value),
            None => again("its answer is no JSON".to_owned(), true),
        };
    }
    let text = String::from_utf8_lossy(&body);
    let message = clean(value.as_ref().and_then(wire::problem).unwrap_or(&text), key);
    let message = if message.is_empty() { "it says nothing".to_owned() } else { message };
    let later = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT)
        || status.is_server_error();
    if later {
        Sent::Again { message: format!("{} ({message})", status.as_u16()), after, may_cost: false }
    } else {
        Sent::Refused { status: status.as_u16(), message }
    }
}

/// How long to wait before the next try; none: not at all any more.
pub(super) fn next_pause(tries: u32, after: Option<Duration>) -> Option<Duration> {
    if after.is_some_and(|after| after > LONGEST_PAUSE) {
        return None;
    }
    let own = Duration::from_millis(400 * u64::from(3_u32.saturating_pow(tries.saturating_sub(1))));
    Some(after.unwrap_or(own).max(Duration::from_millis(100)))
}

fn pause(answer: &Response) -> Option<Duration> {
    asked_pause(answer.headers().get("retry-after")?.to_str().ok()?, SystemTime::now())
}

/// What `Retry-After` asks for: seconds, or a date in any form of RFC 9110 section 5.6.7; one that is over asks for nothing.
fn asked_pause(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

async fn read(mut answer: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > MOST_BYTES => {
                return Err(format!("its answer is larger than {} MiB", MOST_BYTES >> 20));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(told(&error)),
        }
    }
}

/// An error without the address, which may hold what the user typed.
fn told(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    let kind = if error.is_connect() { "it cannot be reached" } else { "the connection broke" };
    format!("{kind}: {source}")
}

/// One short line without the key.
fn clean(text: &str, key: Option<&str>) -> String {
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, "[key]"),
        _ => text.to_owned(),
    };
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_cut_out_of_what_a_provider_says() {
        assert_eq!(clean("bad key\n sk-123!", Some("sk-123")), "bad key [key]!");
        assert_eq!(clean(&"x".repeat(999), None).len(), 300);
    }

    #[test]
    fn tries_come_further_apart_and_a_long_wait_is_not_waited_for() {
        let pauses: Vec<_> = [1, 2].map(|tries| next_pause(tries, None).unwrap().as_millis()).to_vec();
        assert_eq!(pauses, [400, 1200]);
        assert_eq!(next_pause(1, Some(Duration::from_secs(2))), Some(Duration::from_secs(2)));
        assert_eq!(next_pause(1, Some(Duration::from_hours(1))), None);
    }

    #[test]
    fn a_provider_asks_for_a_pause_in_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(24_090_208);
        let asked = |text| asked_pause(text, now);
        assert_eq!(asked(" 3 "), Some(Duration::from_secs(3)));
        assert_eq!(asked("0.5"), Some(Duration::from_millis(500)));
        for date in ["Wed, 21 Oct 2015 07:28:07 GMT", "Wednesday, 21-Oct-15 07:28:07 GMT", "Wed Oct 21 07:28:07 2015"] {
            assert_eq!(asked(date), Some(Duration::from_secs(7)));
        }
        assert_eq!(asked("Wed, 21 Oct 2015 07:27:00 GMT"), Some(Duration::ZERO));
        let long = asked("Wed, 21 Oct 2015 09:28:00 GMT");
        assert_eq!((long, next_pause(1, long)), (Some(Duration::from_hours(2)), None));
        assert_eq!(["soon", "-1", "NaN", ""].map(asked), [None; 4]);
    }
}
