//! Ctrl-C and SIGTERM: the first one ends cleanly, the second at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{Exit, Failure};
use crate::ui::Ui;

/// A value that becomes `true` at the first signal; the second one ends the process, and the driver's guard cleans up.
/// Needs a runtime.
///
/// # Errors
/// When the operating system takes no handler (exit 3).
pub(crate) fn stop_on_signal(ui: &Ui) -> Result<watch::Receiver<bool>, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::engine("no_signals", format!("cannot listen for signals: {error}")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let (send, receive) = watch::channel(false);
    let ui = ui.clone();
    tokio::spawn(async move {
        next(&mut interrupt, &mut terminate).await;
        ui.note("stopping: what is in hand is given back; once more ends at once");
        send.send_replace(true);
        next(&mut interrupt, &mut terminate).await;
        std::process::exit(Exit::Engine.code().into());
    });
    Ok(receive)
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
