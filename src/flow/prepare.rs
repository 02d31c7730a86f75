//! What a run of flows begins with: the files, the secrets of the environment, the key of each goal step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::FlowError;
use super::file::{Does, Flow};
use super::params::{Secrets, Values, placeholders};
use super::recording::{RecordedFor, StepKey, digest, instruction};
use crate::env::SECRET_PREFIX;

/// The secrets of a flow, from the environment.
///
/// # Errors
/// [`FlowError::NoSecret`].
pub fn secrets(flow: &Flow) -> Result<Secrets, FlowError> {
    let read = |name: &String| {
        let variable = format!("{SECRET_PREFIX}{name}");
        let value = crate::env::get(&variable).ok_or_else(|| FlowError::NoSecret {
            flow: flow.name.clone(),
            name: name.clone(),
            variable,
        })?;
        Ok((name.clone(), value))
    };
    Ok(Secrets::new(flow.secrets.iter().map(read).collect::<Result<_, FlowError>>()?))
}

/// Those secrets of a flow that the environment holds: what runs nothing needs none of them, and shows none either.
#[must_use]
pub fn known_secrets(flow: &Flow) -> Secrets {
    let read = |name: &String| Some((name.clone(), crate::env::get(&format!("{SECRET_PREFIX}{name}"))?));
    Secrets::new(flow.secrets.iter().filter_map(read).collect())
}

/// The target when none is named.
pub const TARGET: &str = "chromium";

/// The key of a goal step.
#[must_use]
pub fn step_key(flow: &Flow, values: &Values, secrets: &Secrets, target: &str, at: usize, words: &str) -> StepKey {
    let agent = flow.steps.get(at).and_then(|step| step.agent.as_deref());
    let texts = |words: &str| {
        let params: BTreeMap<String, String> = placeholders(words)
            .into_iter()
            .map(|name| (name.clone(), values.key_text(&format!("{{{{{name}}}}}"))))
            .collect();
        (instruction(words), serde_json::to_string(&params).unwrap_or_default())
    };
    let (own, params) = texts(words);
    // Only equal steps are counted: another step more or less renumbers nothing else.
    let before = flow
        .steps
        .iter()
        .take(at)
        .filter(|step| step.agent.as_deref() == agent)
        .filter(|step| matches!(&step.does, Does::Act(other) if texts(other) == (own.clone(), params.clone())))
        .count();
    let step = RecordedFor {
        test_id: secrets.hide(&format!("{}#{}", flow.file, flow.name)),
        agent: agent.map(str::to_owned),
        target_id: target.to_owned(),
        instruction_digest: digest(&secrets.hide(&own)),
        params_digest: digest(&secrets.hide(&params)),
        call_index: before as u32,
        instruction: secrets.hide(&own),
    };
    let context = secrets.hide(&values.key_text(&flow.context_of(agent)));
    StepKey { step, context_digest: digest(&context), project: String::new() }
}

/// The flows of these files; a directory stands for the YAML files in it. Paths are kept relative to the project.
///
/// # Errors
/// [`FlowError::File`], [`FlowError::NoFlow`], [`FlowError::Store`].
pub fn load(project: &Path, files: &[PathBuf]) -> Result<Vec<Flow>, FlowError> {
    let mut flows = Vec::new();
    for path in files {
        let mut found = vec![path.clone()];
        if path.is_dir() {
            found = crate::store::file_names(path)?
                .into_iter()
                .filter(|name| is_yaml(name))
                .map(|name| path.join(name))
                .collect();
            found.sort();
        }
        if found.is_empty() {
            return Err(FlowError::NoFlow(path.display().to_string()));
        }
        for file in found {
            let text = crate::store::read_to_string(&file)?;
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let name = real(&file).strip_prefix(real(project)).map_or_else(|_| file.clone(), Path::to_path_buf);
            flows.push(super::file::parse(&name.to_string_lossy().replace('\\', "/"), &text)?);
        }
    }
    Ok(flows)
}

fn is_yaml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|kind| kind == "yaml" || kind == "yml")
}
