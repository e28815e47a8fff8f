/**
 * Directives to the sandbox, written into the last user message:
 *
 *     Write me a story. [sandbox: words=200 pace=10] [sandbox: cut after=40 model=story]
 *
 * A directive is `[sandbox: item item …]`; an item is `name` or `name=value`, without spaces around
 * the `=`. There may be several; they add up, a later one wins. They are taken out of the
 * message before the reply is written. Names and values the sandbox does not know are refused with 400,
 * so that a typo is not mistaken for a provider that works.
 *
 * How the answer looks:
 *   words=N      the text has exactly N words (1–10000)
 *   pace=N       N words a second; 0 is as fast as it is read
 *   delay ms=N   the head of the answer comes N ms late
 *   drip ms=N    every byte is a read of its own, N ms apart (default 1)
 *   rounds=N     the requested tools are called in N turns, not one
 *   refuse       the answer is a refusal
 *   filter       the text ends with `content_filter`; after=N words
 *
 * How it fails; `after=N` lets N words through first. A complete answer comes in one piece: of that,
 * any `after` lets one half through before `stall`, `cut` and `end`:
 *   status=N     an error answer (400–599); also code=WORD, retry-after=SECONDS
 *   stall        silence until one side gives up; without `after`, the head never comes
 *   cut          the connection is lost; without `after`, before the head
 *   end          the body ends early, but properly
 *   garbage      something that is not JSON
 *   error        an error inside the answer, status 200; also code=WORD
 *
 * When a directive holds (else always):
 *   model=NAME   only when this model answers, so that the next one of a list does not fail
 *   turn=N       only in the Nth turn since the user spoke: 2 is the one with tool results
 */

import { SandboxRefusal } from './sandbox-refusal.ts'

const faults = ['stall', 'cut', 'end', 'garbage', 'error', 'filter'] as const
export type Fault = typeof faults[number]

export interface Directives {
  readonly words?: number
  readonly pace?: number
  readonly delayMs?: number
  readonly dripMs?: number
  readonly rounds?: number
  readonly refuse?: boolean
  readonly status?: number
  readonly code?: string
  readonly retryAfterSeconds?: number
  readonly fault?: Fault
  /** Words to let through before the fault. */
  readonly after?: number
}

// Bounded, so that a page of open brackets costs no more than its length.
const directive = / ?\[sandbox:([^\]]{0,300})\]/gi
const flags: ReadonlySet<string> = new Set([...faults, 'delay', 'drip', 'refuse'])
const numbers: Readonly<Record<string, readonly [lowest: number, highest: number]>> = {
  words: [1, 10_000],
  pace: [0, 1e6],
  ms: [0, 600_000],
  rounds: [1, 1000],
  status: [400, 599],
  'retry-after': [0, 86_400],
  after: [0, 1e6],
  turn: [1, 1000]
}

/**
 * Reads the directives in a message that hold for this model and this turn.
 *
 * @throws SandboxRefusal 400 for a directive it does not understand
 */
export function readDirectives (text: string, model: string, turn: number): Directives {
  const directives: Directives = {}
  for (const [match, inner = ''] of text.matchAll(directive)) {
    const items = itemsOf(inner, match)
    const holds = (items.get('model') ?? model) === model && Number(items.get('turn') ?? turn) === turn
    if (holds) Object.assign(directives, directivesOf(items))
  }
  return directives
}

/** Returns the message without its directives. */
export function withoutDirectives (text: string): string {
  const rest = text.replaceAll(directive, '')
  return rest === text ? text : rest.trim()
}

function itemsOf (inner: string, match: string): Map<string, string> {
  const items = new Map<string, string>()
  for (const item of inner.split(/[\s,]+/)) {
    if (item === '') continue
    const [name = '', value = ''] = item.toLowerCase().split('=', 2)
    if (!understood(name, value)) {
      throw new SandboxRefusal(400, `The sandbox does not understand "${item}" in "${match.trim()}".`, {
        code: 'invalid_directive'
      })
    }
    items.set(name, value)
  }
  return items
}

function understood (name: string, value: string): boolean {
  const range = Object.hasOwn(numbers, name) ? numbers[name] : undefined
  if (range !== undefined) return value !== '' && Number(value) >= range[0] && Number(value) <= range[1]
  if (name === 'code' || name === 'model') return value !== ''
  return value === '' && flags.has(name)
}

function directivesOf (items: ReadonlyMap<string, string>): Directives {
  const number = (name: string): number | undefined => items.has(name) ? Number(items.get(name)) : undefined
  return present({
    words: number('words'),
    pace: number('pace'),
    delayMs: items.has('delay') ? number('ms') ?? 0 : undefined,
    dripMs: items.has('drip') ? number('ms') ?? 1 : undefined,
    rounds: number('rounds'),
    refuse: items.has('refuse') ? true : undefined,
    status: number('status'),
    code: items.get('code'),
    retryAfterSeconds: number('retry-after'),
    fault: faults.find(name => items.has(name)),
    after: number('after')
  })
}

/** Leaves out what was not said, so that it does not undo an earlier directive. */
function present (directives: { [K in keyof Directives]: Directives[K] | undefined }): Directives {
  return Object.fromEntries(Object.entries(directives).filter(([, value]) => value !== undefined))
}
