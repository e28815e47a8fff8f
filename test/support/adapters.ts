import { callerError, ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { GatewayError } from '../../lib/core/errors.ts'
import type {
  Adapter,
  AdapterInput,
  BodyFormat,
  StreamReader,
  UpstreamFailure
} from '../../lib/providers/provider.ts'

type ReaderOf<E, A extends BodyFormat<E>['as']> = Extract<BodyFormat<E>, { as: A }>

const head = { status: 200, headers: {} }

/** Returns how an adapter reads a successful response, which must be the given way. */
export function readerAs<R, E, A extends BodyFormat<E>['as']> (
  adapter: Adapter<R, E>,
  ask: AdapterInput<R>,
  as: A
): ReaderOf<E, A> {
  const reader = adapter.read(head, ask)
  if (reader.as !== as) throw new TypeError(`read as ${reader.as}`)
  return reader as ReaderOf<E, A> // checked just above
}

/** Reads a complete JSON response; a failure in it is thrown as the caller's error. */
export function readResponse<R, E> (adapter: Adapter<R, E>, body: unknown, ask: AdapterInput<R>): E[] {
  const { read } = readerAs(adapter, { ...ask, streamed: false }, 'json')
  return asCallerReads(() => read(body))
}

/** Reads a complete response that is not parsed at once. */
export function readBytes<R, E> (adapter: Adapter<R, E>, body: Buffer, ask: AdapterInput<R>): E[] {
  const { read } = readerAs(adapter, ask, 'bytes')
  return asCallerReads(() => read(body))
}

/** Opens the reader of an event stream; failures in it are thrown as the caller's errors. */
export function streamOf<R, E> (adapter: Adapter<R, E>, ask: AdapterInput<R>): StreamReader<E> {
  const { reader } = readerAs(adapter, { ...ask, streamed: true }, 'events')
  return {
    get isDone () { return reader.isDone },
    read: (message, into) => asCallerReads(() => reader.read(message, into)),
    end: into => asCallerReads(() => reader.end(into))
  }
}

/** Returns the events of messages read one after another. */
export function readerOf<E> (reader: StreamReader<E>): (message: EventSourceMessage) => E[] {
  return message => {
    const events: E[] = []
    reader.read(message, events)
    return events
  }
}

/**
 * Returns the caller's error for a status other than 2xx.
 * @param ownKey the caller's own provider key
 */
export function errorOf<R, E> (
  adapter: Adapter<R, E>,
  failure: UpstreamFailure,
  ask: AdapterInput<R>,
  ownKey?: string
): GatewayError {
  const thrown = new ProviderFailure(adapter.error(failure, ask))
  return callerError(thrown, [], ownKey === undefined ? undefined : new Secret(ownKey))
}

function asCallerReads<T> (read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof ProviderFailure ? callerError(error) : error
  }
}
