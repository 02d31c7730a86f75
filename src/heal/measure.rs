//! What differs between two screenshots, measured: where, how large, which colours. Pure. Models judge; they measure nothing.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::HealError;

/// Edge of the cells in which differences are gathered, in pixels.
const CELL: u32 = 8;
/// A channel that differs by less is the same colour to a person.
const NOTICEABLE: u8 = 16;
/// A region with less than this in every channel is the renderer's noise.
const NOISE: u8 = 48;

/// A picture: RGBA, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Four bytes for each pixel.
    pub rgba: Vec<u8>,
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rect {
    /// Left edge.
    pub x: u32,
    /// Upper edge.
    pub y: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// What became of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegionKind {
    /// Something else stands there.
    Changed,
    /// Something was there, and nothing is.
    Vanished,
    /// Nothing was there, and something is.
    Appeared,
    /// Differences that only a program sees.
    Noise,
}

/// A connected region that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    /// Where.
    pub rect: Rect,
    /// What became of it.
    pub kind: RegionKind,
    /// Pixels that differ.
    pub pixels: u32,
    /// Mean colour before, `#rrggbb`.
    pub colour_before: String,
    /// Mean colour after.
    pub colour_after: String,
    /// Largest difference of a channel.
    pub largest_delta: u8,
}

/// What differs between two pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Width and height before.
    pub size_before: [u32; 2],
    /// Width and height after.
    pub size_after: [u32; 2],
    /// Share of the pixels that differ, 0 to 1.
    pub share: f64,
    /// The regions, the largest first.
    pub regions: Vec<Region>,
}

impl Picture {
    /// Reads a PNG file's bytes.
    ///
    /// # Errors
    /// [`HealError::Image`].
    pub fn decode(bytes: &[u8], path: &Path) -> Result<Self, HealError> {
        let failed = |problem: String| HealError::Image { path: path.to_path_buf(), problem };
        let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), png::Limits { bytes: 512 << 20 });
        decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
        let mut reader = decoder.read_info().map_err(|error| failed(error.to_string()))?;
        let size = reader.output_buffer_size().ok_or_else(|| failed("it is too large".to_owned()))?;
        let mut data = vec![0; size];
        let info = reader.next_frame(&mut data).map_err(|error| failed(error.to_string()))?;
        data.truncate(info.buffer_size());
        let rgba = match info.color_type {
            png::ColorType::Rgba => data,
            png::ColorType::Rgb => data.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect(),
            png::ColorType::GrayscaleAlpha => data.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect(),
            png::ColorType::Grayscale => data.iter().flat_map(|p| [*p, *p, *p, 255]).collect(),
            png::ColorType::Indexed => return Err(failed("its colours cannot be read".to_owned())),
        };
        Ok(Self { width: info.width, height: info.height, rgba })
    }

    fn at(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let index = (y as usize * self.width as usize + x as usize) * 4;
        self.rgba.get(index..index + 4)?.try_into().ok()
    }
}

impl Rect {
    /// Whether this lies in the other one.
    #[must_use]
    pub fn is_in(self, other: Self) -> bool {
        self.x >= other.x
            && self.y >= other.y
            && self.x + self.width <= other.x.saturating_add(other.width)
            && self.y + self.height <= other.y.saturating_add(other.height)
    }
}

impl Measured {
    /// Regions that a person would see.
    pub fn seen(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter().filter(|region| region.kind != RegionKind::Noise)
    }

    /// Whether the picture has another size.
    #[must_use]
    pub fn resized(&self) -> bool {
        self.size_before != self.size_after
    }

    /// For a model, and for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{:.3} % of the pixels differ", self.share * 100.0);
        if self.resized() {
            text.push_str(&format!(
                "; the size was {}x{} and is {}x{}",
                self.size_before[0], self.size_before[1], self.size_after[0], self.size_after[1]
            ));
        }
        for (number, region) in self.seen().enumerate() {
            let Rect { x, y, width, height } = region.rect;
            let kind = match region.kind {
                RegionKind::Vanished => "vanished",
                RegionKind::Appeared => "appeared",
                _ => "changed",
            };
            text.push_str(&format!(
                "\nregion {}: {kind}, {width}x{height} at {x},{y}; {} before, {} after",
                number + 1,
                region.colour_before,
                region.colour_after
            ));
        }
        text
    }
}

/// Measures what differs.
#[must_use]
pub fn measure(before: &Picture, after: &Picture) -> Measured {
    let (width, height) = (before.width.max(after.width), before.height.max(after.height));
    let (columns, rows) = (width.div_ceil(CELL).max(1), height.div_ceil(CELL).max(1));
    let mut cells = vec![0_u32; (columns * rows) as usize];
    let mut different = 0_u64;
    for y in 0..height {
        for x in 0..width {
            if delta(before.at(x, y), after.at(x, y)) >= NOTICEABLE {
                different += 1;
                if let Some(cell) = cells.get_mut(((y / CELL) * columns + x / CELL) as usize) {
                    *cell += 1;
                }
            }
        }
    }
    let mut regions: Vec<Region> =
        groups(&cells, columns, rows).into_iter().map(|group| region(before, after, group, &cells, columns)).collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.pixels));
    let all = u64::from(width) * u64::from(height);
    Measured {
        size_before: [before.width, before.height],
        size_after: [after.width, after.height],
        share: different as f64 / all.max(1) as f64,
        regions,
    }
}

fn delta(a: Option<[u8; 4]>, b: Option<[u8; 4]>) -> u8 {
    match (a, b) {
        (Some(a), Some(b)) => a.iter().zip(b).map(|(x, y)| x.abs_diff(y)).max().unwrap_or(0),
        (None, None) => 0,
        _ => 255,
    }
}

/// Cells that touch each other, also over a gap of two.
fn groups(cells: &[u32], columns: u32, rows: u32) -> Vec<Vec<(u32, u32)>> {
    let mut seen = vec![false; cells.len()];
    let mut all = Vec::new();
    for start in 0..cells.len() {
        if cells[start] == 0 || seen[start] {
            continue;
        }
        seen[start] = true;
        let mut group = Vec::new();
        let mut open = vec![(start as u32 % columns, start as u32 / columns)];
        while let Some((x, y)) = open.pop() {
            group.push((x, y));
            for next_y in y.saturating_sub(2)..=(y + 2).min(rows - 1) {
                for next_x in x.saturating_sub(2)..=(x + 2).min(columns - 1) {
                    let index = (next_y * columns + next_x) as usize;
                    if cells[index] > 0 && !seen[index] {
                        seen[index] = true;
                        open.push((next_x, next_y));
                    }
                }
            }
        }
        all.push(group);
    }
    all
}

fn region(before: &Picture, after: &Picture, group: Vec<(u32, u32)>, cells: &[u32], columns: u32) -> Region {
    let edge = |of: fn(&(u32, u32)) -> u32| {
        (group.iter().map(of).min().unwrap_or(0), group.iter().map(of).max().unwrap_or(0) + 1)
    };
    let ((left, right), (top, bottom)) = (edge(|cell| cell.0), edge(|cell| cell.1));
    let (width, height) = (before.width.max(after.width), before.height.max(after.height));
    let rect = Rect {
        x: left * CELL,
        y: top * CELL,
        width: (right * CELL).min(width) - left * CELL,
        height: (bottom * CELL).min(height) - top * CELL,
    };
    let pixels = group.iter().filter_map(|(x, y)| cells.get((y * columns + x) as usize)).sum();
    let mut largest = 0;
    for y in rect.y..rect.y + rect.height {
        for x in rect.x..rect.x + rect.width {
            largest = largest.max(delta(before.at(x, y), after.at(x, y)));
        }
    }
    let (flat_before, colour_before) = look(before, rect);
    let (flat_after, colour_after) = look(after, rect);
    let kind = match (flat_before, flat_after) {
        _ if largest < NOISE => RegionKind::Noise,
        (false, true) => RegionKind::Vanished,
        (true, false) => RegionKind::Appeared,
        _ => RegionKind::Changed,
    };
    Region { rect, kind, pixels, colour_before, colour_after, largest_delta: largest }
}

/// Whether a part of a picture is of one colour, and its mean colour.
fn look(picture: &Picture, rect: Rect) -> (bool, String) {
    let mut sum = [0_u64; 3];
    let (mut least, mut most, mut count) = ([255_u8; 3], [0_u8; 3], 0_u64);
    for y in rect.y..rect.y + rect.height {
        for x in rect.x..rect.x + rect.width {
            let Some(pixel) = picture.at(x, y) else { continue };
            count += 1;
            for channel in 0..3 {
                sum[channel] += u64::from(pixel[channel]);
                least[channel] = least[channel].min(pixel[channel]);
                most[channel] = most[channel].max(pixel[channel]);
            }
        }
    }
    let mean = sum.map(|sum| sum / count.max(1));
    let flat = count == 0 || least.iter().zip(most).all(|(least, most)| most - least < NOTICEABLE);
    (flat, format!("#{:02x}{:02x}{:02x}", mean[0], mean[1], mean[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(paint: impl Fn(u32, u32) -> [u8; 3]) -> Picture {
        let (width, height) = (160, 96);
        let rgba = (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .flat_map(|(x, y)| {
                let [r, g, b] = paint(x, y);
                [r, g, b, 255]
            })
            .collect();
        Picture { width, height, rgba }
    }

    fn inside(x: u32, y: u32, rect: [u32; 4]) -> bool {
        x >= rect[0] && y >= rect[1] && x < rect[0] + rect[2] && y < rect[1] + rect[3]
    }

    #[test]
    fn a_vanished_heading_and_a_changed_badge_are_two_regions() {
        let stripes = |x: u32| if x.is_multiple_of(3) { [0, 0, 0] } else { [255, 255, 255] };
        let before = picture(|x, y| {
            if inside(x, y, [0, 0, 60, 12]) {
                stripes(x)
            } else if inside(x, y, [100, 60, 24, 12]) {
                if x.is_multiple_of(4) { [255, 255, 255] } else { [0, 0, 255] }
            } else {
                [255, 255, 255]
            }
        });
        let after = picture(|x, y| {
            if inside(x, y, [100, 60, 24, 12]) {
                if x.is_multiple_of(4) { [255, 255, 255] } else { [255, 0, 0] }
            } else {
                [255, 255, 255]
            }
        });
        let measured = measure(&before, &after);
        let kinds: Vec<RegionKind> = measured.seen().map(|region| region.kind).collect();
        assert_eq!(kinds.len(), 2, "{measured:?}");
        assert!(kinds.contains(&RegionKind::Vanished) && kinds.contains(&RegionKind::Changed));
        let badge = measured.seen().find(|region| region.kind == RegionKind::Changed).unwrap();
        assert!(badge.rect.is_in(Rect { x: 90, y: 50, width: 50, height: 30 }), "{:?}", badge.rect);
    }

    #[test]
    fn what_only_a_program_sees_is_noise() {
        let before = picture(|_, _| [200, 200, 200]);
        let after = picture(|x, y| if inside(x, y, [10, 10, 4, 4]) { [220, 200, 200] } else { [200, 200, 200] });
        let measured = measure(&before, &after);
        assert_eq!(measured.seen().count(), 0);
        assert_eq!(measured.regions.len(), 1);
    }

    #[test]
    fn another_size_is_told() {
        let before = picture(|_, _| [1, 2, 3]);
        let mut after = before.clone();
        after.height -= 10;
        after.rgba.truncate((after.width * after.height * 4) as usize);
        let measured = measure(&before, &after);
        assert!(measured.resized() && measured.seen().count() == 1);
    }
}
