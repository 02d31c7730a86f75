//! Flows as MCP tools over stdio: the calling agent runs a flow, gets the hand-off of a step as the tool's answer, acts with
//! the screen tools in the live session, and says that it is done.
//!
//! Invariants
//! * stdout belongs to the protocol.
//! * One flow runs at a time; every tool answers with the next question, or with what came of the flow.
//! * The session ends with the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::dispatch::keep_run;
use crate::event::Events;
use crate::exit::Failure;
use crate::flow::recording::CacheStore;
use crate::flow::{
    Agent, AttemptResult, ChannelAgent, FlowOptions, FlowReport, Judgement, Kind, Mode, Move, Reading, Reply, Runner,
    Tool, Waiting, load,
};
use crate::replay::EnterOptions;
use crate::store::Clock;

/// What flows are run with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The project's root.
    pub project: PathBuf,
    /// The application, when nothing else is said.
    pub enter: EnterOptions,
    /// The recordings.
    pub store: CacheStore,
    /// How they are used.
    pub mode: Mode,
    /// The time.
    pub clock: Clock,
}

/// A flow that runs.
struct Running {
    task: JoinHandle<Result<FlowReport, Failure>>,
    questions: mpsc::Receiver<Waiting>,
    open: Option<Waiting>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The server.
#[derive(Clone)]
struct Server {
    setup: Setup,
    running: Arc<Mutex<Option<Running>>>,
    tool_router: ToolRouter<Self>,
}

/// Which flows to run, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowArgs {
    /// Flow files below the project, or directories of them.
    files: Vec<String>,
    /// Parameters in place of those of the files.
    #[serde(default)]
    params: BTreeMap<String, String>,
    /// Fail a step whose recording no longer replays.
    #[serde(default)]
    strict: bool,
    /// Give up on a target as soon as the screen stands still without it.
    #[serde(default)]
    fast_miss: bool,
    /// Look for a target that no longer reads as recorded by its test id or its name alone.
    #[serde(default)]
    relocate: bool,
}

/// A thing on the screen.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pointed {
    /// Its number in the list of the screen.
    number: usize,
    /// `tap` (default), `double_tap`, `secondary_tap`, `long_press`, `hover`, `check`, `uncheck`.
    #[serde(default)]
    how: Option<Tool>,
}

/// A text for a thing on the screen.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Typed {
    /// The field's number in the list of the screen; where the focus is, without.
    #[serde(default)]
    number: Option<usize>,
    /// The text; or the name of a secret.
    text: String,
    /// The text is the name of a secret.
    #[serde(default)]
    secret: bool,
}

/// A key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pressed {
    /// `Enter`, `ArrowDown`, `Control+K`.
    key: String,
    /// In which thing of the screen; where the focus is, without.
    #[serde(default)]
    number: Option<usize>,
}

/// An option.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Chosen {
    /// The list's number on the screen.
    number: usize,
    /// The option's label.
    option: String,
}

/// Any other move.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Other {
    /// `drag`, `scroll`, `upload`, `navigate`, `back`, `tap_at`, `hover_at` or `wait`.
    tool: Tool,
    /// The thing's number on the screen.
    #[serde(default)]
    number: Option<usize>,
    /// Where a drag ends.
    #[serde(default)]
    to: Option<usize>,
    /// Address, file, distance (`dx,dy`) or point (`x,y`).
    #[serde(default)]
    text: Option<String>,
}

/// The end of a step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ended {
    /// Whether the goal is reached, or the words hold.
    passed: bool,
    /// Why, in one short sentence.
    #[serde(default)]
    reason: String,
    /// The value that was asked for.
    #[serde(default)]
    value: Option<String>,
}

#[tool_router]
impl Server {
    fn new(setup: Setup) -> Self {
        Self { setup, running: Arc::default(), tool_router: Self::tool_router() }
    }

    /// Runs flows. Answers with what came of them, or with the first step that needs you: what was already done, and the screen.
    #[tool]
    async fn flow(&self, Parameters(args): Parameters<FlowArgs>) -> Result<String, String> {
        let mut slot = self.running.lock().await;
        if slot.as_ref().is_some_and(|running| !running.task.is_finished()) {
            return Err("a flow is running: finish its step with `done` first".to_owned());
        }
        let files: Vec<PathBuf> = args.files.iter().map(|file| self.setup.project.join(file)).collect();
        let flows = load(&self.setup.project, &files).map_err(|error| error.to_string())?;
        let (agent, questions) = ChannelAgent::new("mcp");
        let setup = self.setup.clone();
        let options = FlowOptions {
            repeat_each: 1,
            retries: 0,
            workers: 1,
            mode: setup.mode,
            strict: args.strict,
            fast_miss: args.fast_miss,
            relocate: args.relocate,
            target: None,
            heal_budget: None,
            params: args.params,
        };
        let task = tokio::spawn(async move {
            let (stage, _) = setup.enter.clone().prepare(&setup.project)?.enter().await?;
            let events = Events::ignore();
            let runner = Runner::new(
                &stage,
                Some(Arc::new(agent) as Arc<dyn Agent>),
                setup.store.clone(),
                options,
                &events,
                &setup.clock,
            );
            let began = setup.clock.now();
            let done = runner.run(&flows, || None).await;
            stage.launcher.stop().await;
            let report = done?;
            Ok(match runner.run_file(began) {
                Some(mut run) => report.kept(keep_run(&setup.project, &mut run)?, run.bugs.len()),
                None => report,
            })
        });
        next(&mut slot, Some(Running { task, questions, open: None })).await
    }

    /// Shows the question that waits, with the screen as it was when it was asked.
    #[tool]
    async fn screen(&self) -> Result<String, String> {
        let slot = self.running.lock().await;
        let open = slot.as_ref().and_then(|running| running.open.as_ref());
        open.map(|open| open.text.clone()).ok_or_else(|| "no step waits for you: run a flow with `flow`".to_owned())
    }

    /// Presses a thing on the screen, or does to it what `how` says.
    #[tool]
    async fn tap(&self, Parameters(Pointed { number, how }): Parameters<Pointed>) -> Result<String, String> {
        self.make(how.unwrap_or(Tool::Tap), Some(number), None, None).await
    }

    /// Replaces the text of a field.
    #[tool(name = "type")]
    async fn type_text(&self, Parameters(Typed { number, text, secret }): Parameters<Typed>) -> Result<String, String> {
        self.make(if secret { Tool::TypeSecret } else { Tool::Type }, number, None, Some(text)).await
    }

    /// Presses a key.
    #[tool]
    async fn press(&self, Parameters(Pressed { key, number }): Parameters<Pressed>) -> Result<String, String> {
        self.make(Tool::Press, number, None, Some(key)).await
    }

    /// Chooses an option.
    #[tool]
    async fn select(&self, Parameters(Chosen { number, option }): Parameters<Chosen>) -> Result<String, String> {
        self.make(Tool::Select, Some(number), None, Some(option)).await
    }

    /// Drags, scrolls, uploads, opens an address of the application, goes back, waits.
    #[tool(name = "move")]
    async fn other(&self, Parameters(Other { tool, number, to, text }): Parameters<Other>) -> Result<String, String> {
        self.make(tool, number, to, text).await
    }

    /// Ends the step that waits: reached or not, holds or not, with the value that was asked for.
    #[tool]
    async fn done(&self, Parameters(Ended { passed, reason, value }): Parameters<Ended>) -> Result<String, String> {
        let kind = self.running.lock().await.as_ref().and_then(|running| running.open.as_ref()).map(|open| open.kind);
        let reply = match kind {
            Some(Kind::Judge) => Reply::Judgement(Judgement { holds: passed, reason }),
            Some(Kind::Read) => Reply::Reading(Reading { value: value.filter(|_| passed) }),
            _ => Reply::Move(Move {
                tool: if passed { Tool::Done } else { Tool::Fail },
                number: None,
                to: None,
                text: None,
                reason,
            }),
        };
        self.answer(reply).await
    }
}

impl Server {
    async fn make(
        &self,
        tool: Tool,
        number: Option<usize>,
        to: Option<usize>,
        text: Option<String>,
    ) -> Result<String, String> {
        self.answer(Reply::Move(Move { tool, number, to, text, reason: String::new() })).await
    }

    async fn answer(&self, reply: Reply) -> Result<String, String> {
        let mut slot = self.running.lock().await;
        let Some(mut running) = slot.take() else {
            return Err("no step waits for you: run a flow with `flow`".to_owned());
        };
        let Some(open) = running.open.take() else {
            *slot = Some(running);
            return Err("no step waits for you: run a flow with `flow`".to_owned());
        };
        if let Err(why) = open.fits(&reply) {
            running.open = Some(open);
            *slot = Some(running);
            return Err(why);
        }
        open.answer(reply);
        next(&mut slot, Some(running)).await
    }
}

/// Waits for the next question, or for the end of the flow.
async fn next(slot: &mut Option<Running>, running: Option<Running>) -> Result<String, String> {
    let Some(mut running) = running else { return Err("no flow runs".to_owned()) };
    let waiting = tokio::select! {
        waiting = running.questions.recv() => waiting,
        done = &mut running.task => return told(done),
    };
    match waiting {
        Some(waiting) => {
            let text = waiting.text.clone();
            running.open = Some(waiting);
            *slot = Some(running);
            Ok(text)
        }
        None => told((&mut running.task).await),
    }
}

fn told(done: Result<Result<FlowReport, Failure>, tokio::task::JoinError>) -> Result<String, String> {
    let report = match done {
        Ok(Ok(report)) => report,
        Ok(Err(failure)) => return Err(failure.to_string()),
        Err(_) => return Err("the flow was broken off".to_owned()),
    };
    let mut text = String::new();
    for flow in &report.flows {
        text.push_str(&format!("{} {} ({})\n", flow.outcome.word(), flow.name, flow.file));
        for line in flow.attempts.iter().flat_map(AttemptResult::lines) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text.push_str(&format!("{}\nexit code {}", report.cache_line(), report.exit_code));
    Ok(text)
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("agent-test", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Run a flow with `flow`. When a step needs you, the answer holds its goal, what a replay has already done, and the \
             screen: continue from there with `tap`, `type`, `press`, `select`, `move`, and end the step with `done`."
                .to_owned(),
        );
        info
    }
}

/// Serves until the client goes away.
///
/// # Errors
/// When the client speaks another protocol.
pub async fn serve(setup: Setup) -> Result<(), Failure> {
    let failed =
        |error: String| Failure::engine("mcp_failed", format!("cannot serve the client on stdin and stdout: {error}"));
    let server = Server::new(setup);
    let running = server.running.clone();
    let service = server.serve(rmcp::transport::stdio()).await.map_err(|error| failed(error.to_string()))?;
    service.waiting().await.map_err(|error| failed(error.to_string()))?;
    running.lock().await.take();
    Ok(())
}
