/**
 * Timed text as subtitle files, for providers that give segments only.
 *
 * @see https://www.w3.org/TR/webvtt1/ for WebVTT; SubRip has no specification
 */

/** Times are seconds from the start of the recording. */
export interface Cue {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Prints SubRip: numbered cues, a comma before the milliseconds. */
export function srt (cues: readonly Cue[]): string {
  return shown(cues).map(({ start, end, lines }, index) => {
    const text = lines.replaceAll('-->', '->') // it would be read as times
    return `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${text}\n\n`
  }).join('')
}

/** Writes WebVTT: a head line, a point before the milliseconds, `&`, `<` and `>` escaped. */
export function vtt (cues: readonly Cue[]): string {
  return 'WEBVTT\n\n' + shown(cues).map(({ start, end, lines }) => {
    const text = lines.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    return `${clock(start, '.')} --> ${clock(end, '.')}\n${text}\n\n`
  }).join('')
}

/** Cues with something to show, in milliseconds, without the blank lines that would end them. */
function shown (cues: readonly Cue[]): Array<{ start: number, end: number, lines: string }> {
  return cues.flatMap(({ start, end, text }) => {
    const lines = text.split(/\r\n|\r|\n/).map(line => line.trim()).filter(line => line !== '').join('\n')
    const startMs = milliseconds(start)
    return lines === '' ? [] : [{ start: startMs, end: Math.max(startMs, milliseconds(end)), lines }]
  })
}

function milliseconds (seconds: number): number {
  return Number.isFinite(seconds) ? Math.max(0, Math.round(seconds * 1000)) : 0
}

/** Formats `00:00:00.000`; hours take as many digits as they need. */
function clock (ms: number, mark: ',' | '.'): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const hours = two(ms / 3_600_000)
  const minutes = two(ms / 60_000 % 60)
  const seconds = two(ms / 1000 % 60)
  return `${hours}:${minutes}:${seconds}${mark}${String(ms % 1000).padStart(3, '0')}`
}
