//! The house: the map of `src/lib.rs` names every room, and no room imports upward.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Floors by room, from the map.
fn floors() -> BTreeMap<String, u32> {
    let map = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut floors = BTreeMap::new();
    for line in map.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let mut cells = line.split(" | ");
        let Some(floor) = cells.next().and_then(|number| number.parse().ok()) else { continue };
        for room in cells.next().unwrap().split(", ") {
            let room = room.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '@');
            floors.insert(room.trim_start_matches("mod@").to_owned(), floor);
        }
    }
    floors
}

/// Rooms that a line of code takes from.
fn taken(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("crate::").map(|(at, found)| {
        let rest = &line[at + found.len()..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
}

fn room_of(path: &Path) -> String {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    below.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

#[test]
fn the_map_names_every_room() {
    let floors = floors();
    let missing: Vec<String> = sources()
        .map(|(path, _)| room_of(&path))
        .filter(|room| !matches!(room.as_str(), "lib" | "main") && !floors.contains_key(room))
        .collect();
    assert!(floors.len() > 15 && missing.is_empty(), "not on the map: {missing:?}");
}

#[test]
fn no_room_imports_upward() {
    let floors = floors();
    let mut upward = Vec::new();
    for (path, text) in sources() {
        let room = room_of(&path);
        let Some(own) = floors.get(&room) else { continue };
        // What tests of a room use is not the room.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for other in taken(line) {
                if floors.get(other).is_some_and(|floor| floor > own) {
                    upward.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}
