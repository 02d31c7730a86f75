//! The journal: originals on disk before the first write, so that a heal which is killed at any moment leaves nothing behind.
//!
//! Order of every change: the original is copied, the journal says so and which content will be ours, then the file is
//! written. Who restores (the end of a heal, a panic, or the next start after a kill) finds the original, what we wrote, or
//! an edit of somebody else's; the last is left alone. Removing the journal is the moment in which a repair stands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::HealError;
use crate::store::{self, FileKind, FileLock, Owner, StoreError, lock_timeout, sha256_hex, write_atomic};

/// Where journals lie, below the project.
const FOLDER: &str = ".agent-test/heal";
const NAME: &str = "journal.json";
/// Beside that folder: originals of files that somebody edited while a heal held them.
const ORIGINALS: &str = "heal-originals";

/// Held while a journal is begun or recovered, so that of two heals that start at once one sees the other. It lies
/// beside the folder, which is empty when no heal is under way.
const LOCK: &str = ".agent-test/heal.lock";

/// What is noted of a heal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notes {
    version: u32,
    owner: String,
    files: Vec<Noted>,
    /// Folders of baselines with what was in them: what appears in the meantime goes again.
    folders: Vec<NotedFolder>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Noted {
    path: PathBuf,
    /// Name of the copy; none: there was no file.
    copy: Option<String>,
    /// Digest of the original.
    original: String,
    /// Digests of what we write.
    ours: Vec<String>,
    /// Whether a command of the user's writes it at our word: then whatever stands there is ours.
    #[serde(default)]
    open: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotedFolder {
    path: PathBuf,
    names: Vec<String>,
}

/// A journal that is open. Dropped uncommitted, it puts everything back.
#[derive(Debug)]
#[must_use = "dropping it puts everything back"]
pub struct Journal {
    folder: PathBuf,
    notes: Notes,
    open: bool,
}

impl Notes {
    /// Whether another process, alive, works on this file.
    fn is_at_work_on(&self, file: &Path) -> bool {
        self.owner != Owner::this().to_string()
            && self.owner.parse::<Owner>().is_ok_and(|owner| !owner.is_dead())
            && self.files.iter().any(|noted| noted.path == file)
    }
}

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Files that have their original content again.
    pub restored: Vec<PathBuf>,
    /// New baselines that were removed.
    pub removed: Vec<PathBuf>,
    /// Files that somebody else edited in the meantime; they were left as they are.
    pub kept: Vec<Kept>,
}

/// A file that somebody else edited while a heal held it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// Where its content from before the heal lies now, when the heal had written to it: the edit may stand on a repair that
    /// is not proved.
    pub original: Option<PathBuf>,
}

impl Kept {
    /// For people.
    #[must_use]
    pub fn line(&self) -> String {
        let path = self.path.display();
        let original = self.original.as_ref().map(|original| {
            format!(
                "; it may hold a repair that was not proved: what stood there before is kept in `{}`",
                original.display()
            )
        });
        format!("`{path}` was edited by somebody else and is left as it is{}", original.unwrap_or_default())
    }
}

impl Journal {
    /// Opens a journal below a project, with the originals of these files in it.
    ///
    /// # Errors
    /// [`HealError::Busy`] when a living heal works on one of them; else when it cannot be written.
    pub fn open<'a>(project: &Path, id: &str, files: impl IntoIterator<Item = &'a PathBuf>) -> Result<Self, HealError> {
        let folder = project.join(FOLDER).join(id);
        let files: Vec<&PathBuf> = files.into_iter().collect();
        let _one_at_a_time = lock(project)?;
        let others = journals(project)?;
        if let Some(busy) = files.iter().find(|file| others.iter().any(|(_, notes)| notes.is_at_work_on(file))) {
            return Err(HealError::Busy((*busy).clone()));
        }
        store::create_dir(&folder)?;
        let notes = Notes { version: 1, owner: Owner::this().to_string(), ..Notes::default() };
        let mut journal = Self { folder, notes, open: true };
        journal.save()?;
        for file in files {
            journal.keep(file)?;
        }
        Ok(journal)
    }

    fn save(&self) -> Result<(), StoreError> {
        let text = serde_json::to_vec_pretty(&self.notes).unwrap_or_default();
        write_atomic(&self.folder.join(NAME), &text)
    }

    /// Notes what lies in a folder of baselines (and below), before a run may add to it.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn watch_folder(&mut self, path: &Path) -> Result<(), HealError> {
        if self.notes.folders.iter().any(|noted| noted.path == path) {
            return Ok(());
        }
        self.notes.folders.push(NotedFolder { path: path.to_path_buf(), names: store::names_below(path) });
        Ok(self.save()?)
    }

    /// Keeps the original of a file before it is written for the first time.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn keep(&mut self, path: &Path) -> Result<(), HealError> {
        if self.notes.files.iter().any(|noted| noted.path == path) {
            return Ok(());
        }
        let (copy, original) = match store::exists(path) {
            FileKind::Missing => (None, String::new()),
            _ => {
                let bytes = store::read_bytes(path)?;
                let name = format!("{}.original", self.notes.files.len());
                write_atomic(&self.folder.join(&name), &bytes)?;
                (Some(name), sha256_hex(&bytes))
            }
        };
        self.notes.files.push(Noted { path: path.to_path_buf(), copy, original, ours: Vec::new(), open: false });
        Ok(self.save()?)
    }

    /// Keeps the original of a file that a command is about to write at our word.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn keep_open(&mut self, path: &Path) -> Result<(), HealError> {
        self.keep(path)?;
        if let Some(noted) = self.notes.files.iter_mut().find(|noted| noted.path == path) {
            noted.open = true;
        }
        Ok(self.save()?)
    }

    /// Puts one file back; the journal stays open.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_back(&mut self, path: &Path) -> Result<(), HealError> {
        let Some(noted) = self.notes.files.iter().find(|noted| noted.path == path) else { return Ok(()) };
        match &noted.copy {
            Some(copy) => write_atomic(path, &store::read_bytes(&self.folder.join(copy))?)?,
            None => store::remove_file(path)?,
        }
        Ok(())
    }

    /// Writes a file that is kept.
    ///
    /// # Errors
    /// When somebody else has edited it in the meantime, or it cannot be written.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), HealError> {
        self.keep(path)?;
        let digest = sha256_hex(bytes);
        let current = match store::exists(path) {
            FileKind::Missing => String::new(),
            _ => sha256_hex(store::read_bytes(path)?),
        };
        let Some(noted) = self.notes.files.iter_mut().find(|noted| noted.path == path) else { return Ok(()) };
        if current != noted.original && !noted.ours.contains(&current) && !noted.open {
            return Err(HealError::File {
                path: path.to_path_buf(),
                problem: "somebody edited it in the meantime; that edit stands".to_owned(),
            });
        }
        if !noted.ours.contains(&digest) {
            noted.ours.push(digest);
            self.save()?;
        }
        Ok(write_atomic(path, bytes)?)
    }

    /// Puts everything back, and ends the journal.
    ///
    /// # Errors
    /// When a file cannot be restored; the journal stays for the next start.
    pub fn restore(mut self) -> Result<Restored, HealError> {
        self.open = false;
        restore(&self.folder, &self.notes)
    }

    /// Lets what was written stand, and ends the journal. New baselines that nobody wrote through it go.
    ///
    /// # Errors
    /// When the journal cannot be removed.
    pub fn commit(mut self) -> Result<(), HealError> {
        self.open = false;
        let keep: Vec<PathBuf> = self.notes.files.iter().map(|noted| noted.path.clone()).collect();
        for noted in &self.notes.folders {
            for path in added(noted).into_iter().filter(|path| !keep.contains(path)) {
                store::remove_file(&path)?;
            }
        }
        close(&self.folder, &self.notes)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.open {
            let _ = restore(&self.folder, &self.notes);
        }
    }
}

/// The journals of a project whose heals are dead: everything is put back.
///
/// # Errors
/// When a file cannot be restored.
pub fn recover(project: &Path) -> Result<Restored, HealError> {
    if store::exists(&project.join(FOLDER)) == FileKind::Missing {
        return Ok(Restored::default());
    }
    let _one_at_a_time = lock(project)?;
    let mut all = Restored::default();
    for (folder, notes) in journals(project)? {
        if notes.owner.parse::<Owner>().is_ok_and(|owner| owner.is_dead()) {
            let one = restore(&folder, &notes)?;
            // What a write that was killed has left beside a file. A living writer that loses its own begins again.
            for parent in notes.files.iter().filter_map(|noted| noted.path.parent()) {
                store::sweep(parent, Duration::ZERO);
            }
            all.restored.extend(one.restored);
            all.removed.extend(one.removed);
            all.kept.extend(one.kept);
        }
    }
    Ok(all)
}

fn lock(project: &Path) -> Result<FileLock, StoreError> {
    store::create_dir(&project.join(FOLDER))?;
    FileLock::acquire(&project.join(LOCK), lock_timeout())
}

/// The journals that lie there. The caller holds the lock.
fn journals(project: &Path) -> Result<Vec<(PathBuf, Notes)>, HealError> {
    let folder = project.join(FOLDER);
    let mut names: Vec<String> = store::file_names(&folder)?.into_iter().collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let place = folder.join(name);
        let Some(text) = store::read_to_string_if_exists(&place.join(NAME))? else {
            // Killed while it began or ended: nothing is changed, or everything is back already.
            for copy in store::file_names(&place)?.iter().filter(|name| name.ends_with(".original")) {
                store::remove_file(&place.join(copy))?;
            }
            store::sweep(&place, Duration::ZERO);
            store::remove_empty_dir(&place);
            continue;
        };
        let notes: Notes = serde_json::from_str(&text).map_err(|error| HealError::File {
            path: place.join(NAME),
            problem: format!("this journal of a heal cannot be read ({error})"),
        })?;
        all.push((place, notes));
    }
    Ok(all)
}

fn restore(folder: &Path, notes: &Notes) -> Result<Restored, HealError> {
    let mut done = Restored::default();
    for noted in &notes.files {
        let current = match store::exists(&noted.path) {
            FileKind::Missing => String::new(),
            _ => sha256_hex(store::read_bytes(&noted.path)?),
        };
        if current == noted.original {
            continue;
        }
        if !noted.ours.contains(&current) && !noted.open && !current.is_empty() {
            let original = match &noted.copy {
                Some(copy) if !noted.ours.is_empty() => Some(keep_original(folder, copy, &noted.path)?),
                _ => None,
            };
            done.kept.push(Kept { path: noted.path.clone(), original });
            continue;
        }
        match &noted.copy {
            Some(copy) => write_atomic(&noted.path, &store::read_bytes(&folder.join(copy))?)?,
            None => store::remove_file(&noted.path)?,
        }
        done.restored.push(noted.path.clone());
    }
    for noted in &notes.folders {
        for path in added(noted) {
            store::remove_file(&path)?;
            done.removed.push(path);
        }
    }
    close(folder, notes)?;
    Ok(done)
}

/// Keeps an original beyond its journal; gives back where.
fn keep_original(folder: &Path, copy: &str, of: &Path) -> Result<PathBuf, HealError> {
    let place = folder.parent().unwrap_or(folder).with_file_name(ORIGINALS);
    store::create_dir(&place)?;
    let name = of.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kept = place.join(store::free_name(&name, |name| place.join(name).exists()));
    write_atomic(&kept, &store::read_bytes(&folder.join(copy))?)?;
    Ok(kept)
}

fn close(folder: &Path, notes: &Notes) -> Result<(), HealError> {
    // What a write that was killed has left beside them.
    let is_ours = |name: &String| name == NAME || notes.files.iter().any(|noted| noted.copy.as_ref() == Some(name));
    for name in store::file_names(folder)?.iter().filter(|name| !is_ours(name)) {
        store::remove_file(&folder.join(name))?;
    }
    store::remove_file(&folder.join(NAME))?;
    for copy in notes.files.iter().filter_map(|noted| noted.copy.as_ref()) {
        store::remove_file(&folder.join(copy))?;
    }
    store::remove_empty_dir(folder);
    Ok(())
}

/// Images that appeared in a folder since it was noted.
fn added(noted: &NotedFolder) -> Vec<PathBuf> {
    let is_image = |name: &str| [".png", ".jpg", ".jpeg", ".webp"].iter().any(|ending| name.ends_with(ending));
    let new = store::names_below(&noted.path).into_iter().filter(|name| !noted.names.contains(name) && is_image(name));
    new.map(|name| noted.path.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.spec.ts");
        std::fs::write(&file, "original").unwrap();
        (dir, file)
    }

    #[test]
    fn a_dropped_journal_puts_everything_back_and_a_committed_one_does_not() {
        let (dir, file) = project();
        let mut journal = Journal::open(dir.path(), "one", []).unwrap();
        journal.write(&file, b"first").unwrap();
        journal.write(&file, b"second").unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&file).unwrap(), b"original");
        let mut journal = Journal::open(dir.path(), "two", []).unwrap();
        journal.write(&file, b"second").unwrap();
        journal.commit().unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn an_edit_of_somebody_else_is_neither_written_over_nor_restored_over() {
        let (dir, file) = project();
        let mut journal = Journal::open(dir.path(), "one", []).unwrap();
        journal.write(&file, b"ours").unwrap();
        std::fs::write(&file, "theirs").unwrap();
        assert!(journal.write(&file, b"ours again").is_err());
        let kept = journal.restore().unwrap().kept.pop().unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"theirs");
        // What was repaired and not proved may stand in the edit: the original is not lost.
        let original = std::fs::read(kept.original.unwrap()).unwrap();
        assert_eq!((kept.path, original.as_slice()), (file, b"original".as_slice()));
    }

    #[test]
    fn new_baselines_go_and_old_ones_stay() {
        let (dir, _) = project();
        let shots = dir.path().join("a.spec.ts-snapshots");
        std::fs::create_dir(&shots).unwrap();
        std::fs::write(shots.join("old.png"), "old").unwrap();
        let mut journal = Journal::open(dir.path(), "one", []).unwrap();
        journal.watch_folder(&shots).unwrap();
        std::fs::write(shots.join("new.png"), "new").unwrap();
        journal.write(&shots.join("old.png"), b"promoted").unwrap();
        let done = journal.restore().unwrap();
        assert_eq!(done.removed, [shots.join("new.png")]);
        assert_eq!(std::fs::read(shots.join("old.png")).unwrap(), b"old");
    }

    #[test]
    fn what_a_command_writes_at_our_word_is_put_back_whatever_it_is() {
        let (dir, file) = project();
        let mut journal = Journal::open(dir.path(), "one", []).unwrap();
        journal.keep_open(&file).unwrap();
        std::fs::write(&file, "of the command").unwrap();
        journal.put_back(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"original");
        std::fs::write(&file, "of the command again").unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&file).unwrap(), b"original");
    }

    #[test]
    fn what_was_left_without_a_journal_goes() {
        let (dir, _) = project();
        // A kill before the journal was named, between its copies, and after the last of them.
        for (folder, files) in [("one", &[".agent-test-write-1.tmp"][..]), ("two", &["1.original"]), ("three", &[])] {
            let place = dir.path().join(FOLDER).join(folder);
            std::fs::create_dir_all(&place).unwrap();
            for name in files {
                std::fs::write(place.join(name), "left").unwrap();
            }
        }
        assert_eq!(recover(dir.path()).unwrap(), Restored::default());
        assert_eq!(std::fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn a_journal_of_the_living_is_left_alone() {
        let (dir, file) = project();
        let mut journal = Journal::open(dir.path(), "one", []).unwrap();
        journal.write(&file, b"ours").unwrap();
        assert_eq!(recover(dir.path()).unwrap(), Restored::default());
        assert_eq!(std::fs::read(&file).unwrap(), b"ours");
        drop(journal);
    }
}
