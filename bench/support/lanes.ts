/** Lists the lanes: shapes of load, each named by its appearance. */

import {
  eventCount,
  frameCount,
  letterTexts,
  requestBody,
  texts,
  completeText,
  type BodySize
} from '../../lib/load/answers.ts'
import { callerDialects, type CallerDialectName } from './caller-dialects.ts'
import { isLarge, media, type Media } from './media.ts'
import { maxOpenFiles } from './processes.ts'
import type { LaneExpected } from './lane-check.ts'
import type { Job } from './load.ts'

export interface Lane {
  readonly name: string
  /** The unit that CPU time is divided by. */
  readonly unit: 'request' | 'event' | 'MB'
  /** Megabytes of a request and its answer, if they are the unit. */
  readonly megabytes?: number
  readonly callers: number
  readonly body: string
  readonly expected: LaneExpected
  readonly mode: Job['mode']
  /** See `Job`. */
  readonly spreadMs?: number
  /** Default: `/v1/chat/completions`. */
  readonly path?: string
  /** Default: `application/json`. */
  readonly contentType?: string
  /** Sent by every caller, besides the contender's own headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** The contenders that can take part. Default: all. */
  readonly only?: readonly string[]
  /** True for the short selection of `--quick`, and for the lanes in which `--table` has all contenders. */
  readonly quick: boolean
}

const completeExpected: LaneExpected = { frames: 0, text: completeText }
const streamExpected: LaneExpected = { frames: frameCount(eventCount), text: texts.join('') }

function json (size: BodySize, callers: number, quick = false): Lane {
  return {
    name: `JSON, ${size} body, ${callers} callers`,
    unit: 'request',
    callers,
    body: requestBody('json', size, false),
    expected: completeExpected,
    mode: 'loop',
    quick
  }
}

function stream (
  name: string, shape: string, callers: number, more: Partial<Lane> = {}
): Lane {
  return {
    name,
    unit: 'event',
    callers,
    body: requestBody(shape, '1 KB', true),
    expected: streamExpected,
    mode: 'loop',
    quick: false,
    ...more
  }
}

/** Requests for a provider of another dialect; contenders that do not translate get the answer of `mock`. */
function translated (provider: 'anthropic' | 'google'): Lane[] {
  return [
    {
      ...json('1 KB', 32),
      name: `JSON from ${provider}, 32 callers`,
      body: requestBody('json', '1 KB', false, provider)
    },
    stream(`200 events from ${provider}, 8 per write, 8 callers`, 'eights', 8, {
      body: requestBody('eights', '1 KB', true, provider)
    })
  ]
}

/** Requests of another dialect than chat completions; contenders that do not translate do not take part. */
function spoken (
  dialect: CallerDialectName,
  provider: 'openai' | 'anthropic',
  frames: number = callerDialects[dialect].frames
): Lane[] {
  const { path, body } = callerDialects[dialect]
  const common = { path, only: ['Headgate', 'Headgate before'] }
  const model = provider === 'openai' ? 'mock' : provider
  return [
    {
      ...json('1 KB', 32),
      ...common,
      name: `${dialect}: JSON from ${provider}, 32 callers`,
      body: body('json', '1 KB', false, model),
      expected: { ...completeExpected, dialect }
    },
    stream(`${dialect}: 200 events from ${provider}, 8 per write, 8 callers`, 'eights', 8, {
      ...common,
      body: body('eights', '1 KB', true, model),
      expected: { ...streamExpected, frames, dialect }
    })
  ]
}

/**
 * The pipe connects to the provider over TLS for callers who send this; a gateway by the name of the model.
 */
const overTls = { headers: { 'x-upstream': 'tls' }, only: ['bare pipe', 'Headgate', 'Headgate before'] }

/** Bodies of megabytes in one direction, and smaller ones by the request. */
function mediaLane (medium: Media): Lane {
  const { name, path, contentType, body, callers, sizeBytes } = medium
  return {
    name,
    path,
    contentType,
    body,
    callers,
    mode: 'loop',
    quick: false,
    unit: isLarge(medium) ? 'MB' : 'request',
    megabytes: sizeBytes / 1e6,
    expected: { frames: 0, media: name },
    only: ['direct', 'nginx', 'bare pipe', 'Headgate', 'Headgate before']
  }
}

/** Returns true for lanes of recordings, images, vectors and audio, whatever their unit. */
export function isOfMedia ({ expected }: Pick<Lane, 'expected'>): boolean {
  return expected.media !== undefined
}

const stamped = (events: number): LaneExpected => ({ frames: frameCount(events) })

/** A call of one caller. */
export const plainCall = json('1 KB', 1)

export const lanes: readonly Lane[] = [
  plainCall,
  json('1 KB', 8),
  json('1 KB', 32, true),
  json('1 KB', 64, true),
  json('1 KB', 256),
  json('33 KB', 32),
  stream('one-event stream, 32 callers', 'one', 32, {
    unit: 'request',
    expected: { frames: frameCount(1), text: texts[0] ?? '' }
  }),
  stream('200 events, 8 per write, 8 callers', 'eights', 8, { quick: true }),
  stream('200 events beyond ASCII, 8 per write, 8 callers', 'letters', 8, {
    expected: { frames: frameCount(eventCount), text: letterTexts.join('') }
  }),
  ...translated('anthropic'),
  ...translated('google'),
  // Anthropic sends no ping in these streams, and its frames are passed on unchanged.
  ...spoken('messages', 'anthropic', callerDialects.messages.frames - 1),
  ...spoken('messages', 'openai'),
  ...spoken('responses', 'openai'),
  ...spoken('responses', 'anthropic'),
  stream('200 events, all at once, 8 callers', 'chunks', 8),
  stream('200 events, one per write, paced 5 ms, 16 callers', 'paced-5', 16, {
    expected: stamped(eventCount),
    quick: true
  }),
  {
    ...json('1 KB', 32),
    ...overTls,
    name: 'JSON over TLS, 32 callers',
    body: requestBody('json', '1 KB', false, 'tls')
  },
  stream('200 events over TLS, paced 5 ms, 16 callers', 'paced-5', 16, {
    ...overTls,
    body: requestBody('paced-5', '1 KB', true, 'tls'),
    expected: stamped(eventCount)
  }),
  ...media.map(mediaLane),
  stream('first token, 16 callers', 'paced-10-10', 16, {
    unit: 'request',
    expected: stamped(10),
    quick: true
  }),
  // Callers out of step, as in practice: callers in step send 16 requests in one millisecond, each of which
  // waits for those before it.
  stream('first token, 16 callers not in step', 'paced-10-10', 16, {
    unit: 'request',
    expected: stamped(10),
    spreadMs: 100
  })
]

/** 10,000, or as many as the gateway may have files open for: each takes two. */
const most = Math.min(10_000, Math.floor(maxOpenFiles() / 2) - 200)

/** Open streams with an event a second each: memory per stream, and how late an event may be. */
export const slowStreams = [2_000, 4_000, most].map(count =>
  stream(`${count.toLocaleString('en')} slow streams`, 'paced-1000', count, {
    expected: stamped(eventCount),
    mode: 'hold'
  })
)

/**
 * Callers who request 64 MB and never read: their cost must not grow with the answer. For few callers much of
 * the cost is the one-time growth of the process.
 */
export const deafCallers = [100, 400].map(count =>
  stream(`${count} callers who never read`, 'endless', count, {
    expected: stamped(0),
    mode: 'deaf'
  })
)
