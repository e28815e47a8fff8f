/** Changes that sloppy servers make to the answers of their API. */

import { isObject } from '../../lib/json/type-guards.ts'

export type Frame = readonly [event: string | undefined, data: object | string]

/** The changed value of each kind of change; `skip` if it changes nothing. */
export const skip = Symbol('skip')
export const changes: Readonly<Record<string, (value: unknown) => unknown>> = {
  absent: () => undefined,
  null: () => null,
  'an empty text': () => '',
  'another text': () => 'other',
  'a number': () => 7,
  'an empty list': () => [],
  'an empty object': () => ({}),
  'a number as text': value => (typeof value === 'number' ? String(value) : skip),
  'one more': value => (typeof value === 'number' ? value + 1 : skip),
  'in a list': value => (isObject(value) ? [value] : skip),
  'out of its list': value => (Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : skip),
  'JSON as text': value => (typeof value === 'object' && value !== null ? JSON.stringify(value) : skip)
}

/** Changes that mean an empty value. */
export const nothing = new Set(['absent', 'null', 'an empty text', 'an empty list', 'an empty object'])

export type Path = readonly string[]

/** Lists the paths of all members of a value. */
export function * pathsOf (value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) yield * pathsOf(member, [...path, name])
}

export function at (value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, name) => Reflect.get(Object(inner), name), value)
}

/** Returns a copy with another value at the path. */
export function changed (value: unknown, [name, ...rest]: Path, member: unknown): unknown {
  if (name === undefined) return member
  const inner = changed(Reflect.get(Object(value), name), rest, member)
  if (Array.isArray(value)) {
    return inner === undefined ? value.toSpliced(Number(name), 1) : value.with(Number(name), inner)
  }
  const { [name]: _, ...others } = value as Record<string, unknown> // a path leads through objects and arrays
  return inner === undefined ? others : { ...others, [name]: inner }
}

/** Prints messages as an event stream. */
export const asSse = (frames: readonly Frame[]): Buffer =>
  Buffer.from(
    frames
      .map(
        ([event, data]) =>
          `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
      )
      .join('')
  )
