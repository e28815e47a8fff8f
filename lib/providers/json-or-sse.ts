import type { Ask, BodyReader, StreamReader } from './provider.ts'

/**
 * Reads an event stream where one was requested, JSON otherwise. Servers have been seen to send the
 * one in place of the other, so each is read as what it turns out to be.
 */
export function jsonOrSse<R, E> (
  ask: Ask<R>, json: (value: unknown, ask: Ask<R>) => E[], stream: (ask: Ask<R>) => StreamReader<E>
): BodyReader<E> {
  const read = (value: unknown): E[] => json(value, ask)
  return ask.streamed ? { as: 'sse', reader: stream(ask), json: read } : { as: 'json', read, sse: () => stream(ask) }
}
