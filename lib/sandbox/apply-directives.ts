/** Applies directives to a script: late, slow, broken off, or an error. */

import { dataOf, done } from './chat-stream.ts'
import { errorBody, SandboxRefusal } from './sandbox-refusal.ts'
import { jsonScript, type Script, type Step } from './script.ts'
import type { Directives, Fault } from './directives.ts'

const page = '<html><body>This is not JSON.</body></html>'
const sentence = 'The sandbox was instructed to fail.'

/** @param streamed whether the script is a stream of frames, or one object */
export function applyDirectives (script: Script, directives: Directives, streamed: boolean): Script {
  const acted = failed(script, directives, streamed)
  const { delayMs, dripMs } = directives
  return {
    ...acted,
    before: delayMs === undefined ? acted.before : [{ type: 'pause', ms: delayMs }, ...acted.before],
    body: dripMs === undefined ? acted.body : dripped(acted.body, dripMs)
  }
}

function failed (script: Script, directives: Directives, streamed: boolean): Script {
  const { status, code, retryAfterSeconds, fault, after } = directives
  if (status !== undefined) {
    return new SandboxRefusal(status, sentence, { code, retryAfterSeconds }).toScript()
  }
  if (fault === undefined || fault === 'filter') return script
  if (after === undefined && fault === 'stall') {
    return { ...script, before: [{ type: 'pause', ms: Infinity }] }
  }
  if (after === undefined && fault === 'cut') return { ...script, before: [{ type: 'lose' }] }
  if (streamed) {
    const ending = streamFaults[fault](code)
    return { ...script, body: after === undefined ? ending : broken(script.body, after, ending) }
  }
  if (fault === 'error') return jsonScript(200, errorBody(500, sentence, { code }), script.headers)
  if (fault === 'garbage') {
    const headers = { ...script.headers, 'content-type': 'text/html' }
    return { ...script, headers, body: [{ type: 'send', bytes: page }] }
  }
  return { ...script, body: halved(script.body, completeFaults[fault]) }
}

const completeFaults = {
  stall: [{ type: 'pause', ms: Infinity }],
  cut: [{ type: 'lose' }],
  end: []
} satisfies Partial<Record<Fault, Step[]>>

const streamFaults: Readonly<Record<Exclude<Fault, 'filter'>, (code: string | undefined) => Step[]>> = {
  stall: () => completeFaults.stall,
  cut: () => completeFaults.cut,
  end: () => completeFaults.end,
  garbage: () => [{ type: 'send', bytes: `data: ${page}\n\n` }],
  error: code => [{ type: 'send', bytes: dataOf(errorBody(500, sentence, { code })) + done }]
}

/** Yields the steps up to a number of words, then the ending. A script with fewer words is unchanged. */
function * broken (steps: Iterable<Step>, after: number, ending: readonly Step[]): Generator<Step, void> {
  let sent = 0
  for (const step of steps) {
    const words = step.type === 'send' ? step.words ?? 0 : 0
    if (words > 0 && sent >= after) {
      yield * ending
      return
    }
    sent += words
    yield step
  }
}

/** Yields the first half of the bytes, then the ending. */
function * halved (steps: Iterable<Step>, ending: readonly Step[]): Generator<Step, void> {
  for (const step of steps) {
    if (step.type !== 'send') continue
    const bytes = Buffer.from(step.bytes)
    yield { type: 'send', bytes: bytes.subarray(0, Math.ceil(bytes.length / 2)) }
  }
  yield * ending
}

function * dripped (steps: Iterable<Step>, ms: number): Generator<Step, void> {
  for (const step of steps) {
    if (step.type !== 'send') {
      yield step
      continue
    }
    for (const byte of Buffer.from(step.bytes)) {
      yield { type: 'pause', ms }
      yield { type: 'send', bytes: Uint8Array.of(byte) }
    }
  }
}
