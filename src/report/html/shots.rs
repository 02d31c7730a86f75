//! The screenshots of the page: each in it once, or linked when they are too many.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine;
use imagesize::ImageType;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::report::aggregate::{Aggregate, RoutePart};
use crate::report::input::{TO_PROJECT, file_name};
use crate::report::markdown::href;
use crate::report::review::named_screenshots;

struct Image {
    mime: &'static str,
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

/// Where the screenshots are.
pub(super) struct Shots {
    /// Number of the image, by path relative to the project root.
    by_path: BTreeMap<String, usize>,
    images: Vec<Image>,
    /// Paths of files that exist and are not in the page.
    linked: BTreeSet<String>,
    /// Why screenshots are linked in place of being in the page.
    pub(super) note: Option<String>,
}

/// The path of a route's screenshot, relative to the project root; nothing for a name that could lead elsewhere.
fn path_of(route: &RoutePart, name: &str) -> Option<String> {
    let file = file_name(name, &route.screenshots_dir)?;
    Some(format!("{}/{file}", route.screenshots_dir.trim_end_matches('/')))
}

impl Shots {
    pub(super) fn load(campaign: &Aggregate, read: &impl Fn(&str) -> Option<Vec<u8>>, limit: usize) -> Self {
        let mut shots = Self { by_path: BTreeMap::new(), images: Vec::new(), linked: BTreeSet::new(), note: None };
        let mut by_hash: HashMap<[u8; 32], usize> = HashMap::new();
        let mut sum = 0_usize;
        let paths: Vec<String> = campaign
            .routes
            .iter()
            .flat_map(|route| named_screenshots(&route.report).into_iter().filter_map(|name| path_of(route, name)))
            .collect();
        for path in paths {
            if shots.by_path.contains_key(&path) || shots.linked.contains(&path) {
                continue;
            }
            let Some(bytes) = read(&path) else { continue };
            let Some((mime, width, height)) = kind(&bytes) else {
                shots.linked.insert(path);
                continue;
            };
            if sum > limit {
                shots.linked.insert(path);
                continue;
            }
            let digest: [u8; 32] = Sha256::digest(&bytes).into();
            let next = shots.images.len();
            let number = *by_hash.entry(digest).or_insert(next);
            if number == next {
                sum = sum.saturating_add(bytes.len());
                shots.images.push(Image { mime, width, height, bytes });
            }
            shots.by_path.insert(path, number);
        }
        if sum > limit {
            let all = shots.by_path.len() + shots.linked.len();
            let linked = std::mem::take(&mut shots.by_path).into_keys();
            shots.linked.extend(linked);
            shots.images.clear();
            shots.note = Some(format!(
                "{all} screenshots with more than {} MB together are linked, not embedded: keep this file beside the screenshots folder.",
                limit / (1024 * 1024)
            ));
        }
        shots
    }

    /// The screenshot, shown; nothing when there is no such file.
    pub(super) fn show(&self, route: &RoutePart, name: &str) -> Option<Markup> {
        let path = path_of(route, name)?;
        if let Some(&number) = self.by_path.get(&path) {
            let image = self.images.get(number)?;
            return Some(html! {
                svg.shot viewBox=(format!("0 0 {} {}", image.width, image.height)) role="img" aria-label=(name) data-shot=(number) {
                    use href=(format!("#shot-{number}")) {}
                }
            });
        }
        self.linked.contains(&path).then(|| {
            html! { img.shot loading="lazy" decoding="async" alt=(name) src=(format!("{TO_PROJECT}{}", href(&path))); }
        })
    }

    /// Whether there is such a file.
    pub(super) fn has(&self, route: &RoutePart, name: &str) -> bool {
        path_of(route, name).is_some_and(|path| self.by_path.contains_key(&path) || self.linked.contains(&path))
    }

    /// Every embedded screenshot, once.
    pub(super) fn symbols(&self) -> Markup {
        if self.images.is_empty() {
            return PreEscaped(String::new());
        }
        html! {
            svg.symbols aria-hidden="true" width="0" height="0" {
                @for (number, image) in self.images.iter().enumerate() {
                    symbol id=(format!("shot-{number}")) viewBox=(format!("0 0 {} {}", image.width, image.height)) {
                        image width=(image.width) height=(image.height)
                            href=(format!("data:{};base64,{}", image.mime, base64::engine::general_purpose::STANDARD.encode(&image.bytes))) {}
                    }
                }
            }
        }
    }
}

/// What a browser shows as a picture and cannot run: decided by the bytes, not by the name.
fn kind(bytes: &[u8]) -> Option<(&'static str, usize, usize)> {
    let mime = match imagesize::image_type(bytes).ok()? {
        ImageType::Png => "image/png",
        ImageType::Jpeg => "image/jpeg",
        ImageType::Webp => "image/webp",
        ImageType::Gif => "image/gif",
        _ => return None,
    };
    let size = imagesize::blob_size(bytes).ok()?;
    (size.width > 0 && size.height > 0).then_some((mime, size.width, size.height))
}
