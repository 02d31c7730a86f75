//! `cache`: the recordings of goal steps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::flow::cache::{
    Comparison, apply, clear, compare, entry, explain, named, prune, rekey, rows, short, sign, text,
};
use crate::flow::recording::CacheStore;
use crate::flow::{FlowError, load};

/// Look at the recordings of goal steps, and look after them
///
/// Nothing is ever deleted: what is taken away lies in quarantine, and `cache undo` brings it back.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    /// List the recordings
    Ls,
    /// Count them
    Stats,
    /// Show what a recording does and what proves its end
    Show {
        /// The recording: its key, or how it begins
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Show what a proposal, or what lies in quarantine, does otherwise than the recording
    Diff {
        /// The recording: its key, or how it begins
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Say of every goal step of these flows whether it would replay, and why not
    Explain {
        /// Flow files, or directories of them
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// For this target (default: chromium)
        #[arg(long, value_name = "NAME")]
        target: Option<String>,
    },
    /// Put recordings that belong to no step of these flows into quarantine
    Prune {
        /// All flow files, or directories of them
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
    },
    /// Let a step take over the recording that it had before its words, its file or its name changed
    Rekey {
        /// The recording: its key, or how it begins
        #[arg(value_name = "KEY")]
        key: String,
        /// The flow file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Number of the step in it, from 1
        #[arg(value_name = "STEP")]
        step: usize,
    },
    /// Take proposals that a run in CI wrote into the recordings
    Apply {
        /// The proposals: their keys, or how they begin (default: all)
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Sign recordings that you have looked at with the key in AGENT_TEST_CACHE_KEY
    Sign {
        /// The recordings: their keys, or how they begin (default: all)
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Bring a recording back that was put into quarantine
    Undo {
        /// The recording: its key, or how it begins (default: list what is in quarantine)
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },
    /// Put all recordings into quarantine
    Clear,
}

pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    let store = CacheStore::new(&context.project).signed();
    let now = context.clock.now();
    let flows =
        |files: &[PathBuf]| load(&context.project, &files.iter().map(|file| context.file(file)).collect::<Vec<_>>());
    let no_params = BTreeMap::new();
    match command {
        Command::Ls => {
            let rows = rows(&store)?;
            let lines: Vec<String> = rows
                .iter()
                .map(|row| {
                    let age =
                        row.created_at.map_or_else(|| "-".to_owned(), |at| format!("{} d", (now - at).num_days()));
                    let problem = row.problem.as_ref().map(|why| format!("  ({why})")).unwrap_or_default();
                    format!(
                        "{}  {:>5}  {:>2} actions  {}  {}  {}{problem}",
                        short(&row.key),
                        age,
                        row.actions,
                        row.target,
                        row.test,
                        row.instruction
                    )
                })
                .collect();
            let lines = if lines.is_empty() { "no recordings".to_owned() } else { lines.join("\n") };
            context.answer(json!({ "recordings": rows }), lines)
        }
        Command::Stats => {
            let rows = rows(&store)?;
            let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
            let healed: usize = rows.iter().map(|row| row.healed).sum();
            let (quarantined, proposed) = (store.quarantined()?.len(), store.proposed()?.len());
            let text = format!(
                "{}, {bytes} bytes\n{healed} healed since they were recorded\n{quarantined} in quarantine, {} waiting",
                counted(rows.len(), "recording"),
                counted(proposed, "proposal")
            );
            let drifting: Vec<_> = rows
                .iter()
                .filter(|row| row.healed > 0)
                .map(|row| json!({ "key": row.key, "healed": row.healed }))
                .collect();
            context.answer(json!({ "recordings": rows.len(), "bytes": bytes, "healed": healed, "drifting": drifting, "quarantined": quarantined, "proposed": proposed }), text)
        }
        Command::Show { key } => {
            let key = named(&store.keys()?, &key)?;
            let entry = entry(&store, &key)?;
            context.answer(json!({ "key": key, "recording": entry }), text(&entry))
        }
        Command::Diff { key } => {
            let Comparison { key, against: title, lines } =
                compare(&store, &key).map_err(|error| match named(&store.keys().unwrap_or_default(), &key) {
                    // The recording is there; what it would be compared with is not.
                    Ok(key) => Failure::usage(
                        "nothing_to_compare",
                        format!("the recording {} has no proposal, and none of it lies in quarantine", short(&key)),
                    )
                    .hinted("`agent-test cache show KEY` shows the recording itself"),
                    Err(_) => error.into(),
                })?;
            context.answer(
                json!({ "key": key, "against": title, "lines": lines }),
                format!("{title} {key}\n{}", lines.join("\n")),
            )
        }
        Command::Explain { files, target } => {
            let told = explain(&store, &flows(&files)?, &no_params, target.as_deref(), None)?;
            let lines: Vec<String> = told
                .iter()
                .map(|one| {
                    let word = one.reason.map_or("replays", crate::flow::recording::Reason::word);
                    format!(
                        "{word:<13} {}, step {}: {}\n              {} ({})",
                        one.file,
                        one.step,
                        one.instruction,
                        one.detail,
                        short(&one.key)
                    )
                })
                .collect();
            context.answer(json!({ "steps": told }), lines.join("\n"))
        }
        Command::Prune { files, dry_run } => {
            let pruned = prune(&store, &flows(&files)?, &no_params, now, dry_run)?;
            let lines: Vec<String> = pruned.iter().map(|(key, words)| format!("{}  {words}", short(key))).collect();
            let keys: Vec<&String> = pruned.iter().map(|(key, _)| key).collect();
            let word = if dry_run { "would go" } else { "in quarantine" };
            context.answer(
                json!({ "pruned": keys, "dryRun": dry_run }),
                format!("{} {word}\n{}", counted(pruned.len(), "recording"), lines.join("\n")),
            )
        }
        Command::Rekey { key, file, step } => {
            let flow = flows(&[file])?.into_iter().next().ok_or_else(|| FlowError::NoFlow("the file".to_owned()))?;
            let (old, new) = rekey(&store, &key, &flow, &no_params, step)?;
            context.answer(json!({ "from": old, "to": new }), format!("{} is now {}", short(&old), short(&new)))
        }
        Command::Apply { keys } => {
            let applied = apply(&store, &keys, now)?;
            let text = match applied.len() {
                0 => "no proposal is waiting".to_owned(),
                count => format!("{} applied; what they replaced lies in quarantine", counted(count, "proposal")),
            };
            context.answer(json!({ "applied": applied }), text)
        }
        Command::Sign { keys } => {
            let signed = sign(&store, &keys).map_err(|error| {
                let failure = Failure::from(error);
                let hint = format!("set {} to the key to sign with", crate::env::CACHE_KEY);
                if store.signs() { failure } else { failure.hinted(hint) }
            })?;
            context.answer(json!({ "signed": signed }), format!("{} signed", counted(signed.len(), "recording")))
        }
        Command::Undo { key: None } => {
            let kept = store.quarantined()?;
            let lines: Vec<String> = kept
                .iter()
                .map(|kept| format!("{}  {}  {}", short(&kept.key), kept.at.format("%Y-%m-%d %H:%M"), kept.reason))
                .collect();
            let rows: Vec<_> =
                kept.iter().map(|kept| json!({ "key": kept.key, "reason": kept.reason, "at": kept.at })).collect();
            let text = if lines.is_empty() { "nothing is in quarantine".to_owned() } else { lines.join("\n") };
            context.answer(json!({ "quarantined": rows }), text)
        }
        Command::Undo { key: Some(key) } => {
            let keys: Vec<String> = store.quarantined()?.into_iter().map(|kept| kept.key).collect();
            let key = named(&keys, &key)?;
            match store.undo(&key)? {
                Some(kept) => context.answer(
                    json!({ "key": key, "reason": kept.reason }),
                    format!("{} is back; it had gone because {}", short(&key), kept.reason),
                ),
                None => {
                    Err(FlowError::Key(format!("a newer recording stands under {key}; it was not replaced")).into())
                }
            }
        }
        Command::Clear => {
            let (cleared, stayed) = clear(&store, now)?;
            let mut text =
                format!("{} in quarantine; `agent-test cache undo KEY` brings one back", counted(cleared, "recording"));
            for why in &stayed {
                text.push_str(&format!("\nstays: {why}"));
            }
            let exit = if stayed.is_empty() { Exit::Ok } else { Exit::Found };
            context.ui.json(&json!({ "cleared": cleared, "stayed": stayed, "exitCode": exit.code() }));
            context.ui.out(text);
            Ok(exit)
        }
    }
}
