/** Formats a line of the log for a person at a terminal. */

import { isObject, type JsonObject } from '../json/type-guards.ts'
import { printable } from '../text/printable.ts'

const colours: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31' }

/** Fields that begin the line. */
const leading: ReadonlySet<string> = new Set(['level', 'time', 'msg'])
/** Fields that are in the summary of a call, or that only programs need. */
const summarised: ReadonlySet<string> = new Set([
  ...leading,
  'id',
  'client',
  'key',
  'key_name',
  'endpoint',
  'requested',
  'model',
  'provider',
  'status',
  'outcome',
  'streamed',
  'total_ms',
  'first_byte_ms',
  'upstream_wait_ms',
  'upstream_id',
  'usage',
  'session'
])

/**
 * Returns the local time, the level and the message, then the other fields as `name=value`. The line of a
 * call instead summarises what was called, how it ended, how long it took and how many tokens it used.
 *
 * @param line a JSON object as `createLog` writes it
 * @param isColoured true if the level is coloured for a terminal
 */
export function readableLine (line: string, isColoured: boolean): string {
  const fields: JsonObject = JSON.parse(line)
  const { level, time, msg } = fields
  const isCall = msg === 'call'
  const rest = Object.entries(fields)
    .filter(
      ([name, value]) =>
        !(isCall ? summarised : leading).has(name) && !(name === 'attempts' && Number(value) < 2)
    )
    .map(([name, value]) => `${name}=${print(value)}`)
  const label = String(level).padEnd(5)
  const colour = isColoured ? colours[String(level)] : undefined
  return [
    timeOfDay(String(time)),
    colour === undefined ? label : `\u001B[${colour}m${label}\u001B[0m`,
    ...isCall ? summaryOf(fields) : [printable(String(msg))],
    ...rest
  ].join(' ') + '\n'
}

function summaryOf (fields: JsonObject): string[] {
  const { status, outcome, endpoint, model, requested, total_ms: totalMs, usage, key_name: keyName } = fields
  const tokens = isObject(usage) && typeof usage['total'] === 'number' ? usage['total'] : undefined
  return [
    print(status ?? outcome ?? '-'),
    print(endpoint),
    ...[model ?? requested].flatMap(name => name === undefined ? [] : [print(name)]),
    `${Math.round(Number(totalMs))} ms`,
    ...tokens === undefined ? [] : [`${tokens} tokens`],
    ...keyName === undefined ? [] : [`key=${print(keyName)}`],
    ...status === 200 && outcome !== 'ok' ? [`outcome=${print(outcome)}`] : []
  ]
}

function timeOfDay (time: string): string {
  const date = new Date(time)
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits)
  return `${hours}:${minutes}:${seconds}`
}

function twoDigits (value: number): string {
  return String(value).padStart(2, '0')
}

function print (value: unknown): string {
  return printable(
    typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? '')
  )
}
