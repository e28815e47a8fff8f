/**
 * Calls: the list, single calls in detail, and a live stream of ended calls. Contains no prompts and no
 * answers.
 */

import { Type, type Static } from 'typebox'
import { byUnitColumn } from '../billed-units.ts'
import { guardPoints } from '../config/guards.ts'
import { OneOf } from '../nullable.ts'
import {
  between,
  Milliseconds,
  onlyThese,
  OrNull,
  Page,
  pageQuery,
  Role,
  type QueryParameter
} from './common.ts'
import { attributionFilters, usageFilters } from './usage.ts'

const Text = OrNull(Type.String())
const Count = OrNull(Type.Integer())

export const CallSummary = Type.Object({
  id: Type.String({ description: 'Of the usage record.' }),
  request_id: Type.String({
    description: '`x-request-id` of the answer. Not unique: callers may choose it.'
  }),
  at_ms: Milliseconds,
  key_id: Type.String(),
  key_name: Text,
  project_id: Type.String(),
  endpoint: Type.String(),
  requested_model: Text,
  model: Text,
  provider: Text,
  outcome: Type.String({
    description: '`ok`, `error`, `client_closed`, `client_too_slow` or `interrupted`.'
  }),
  status: Count,
  error_code: Text,
  streamed: Type.Boolean(),
  attempts: Type.Integer(),
  prompt_tokens: Count,
  completion_tokens: Count,
  cost_usd: OrNull(Type.Number(), '`null`: no price is known.'),
  estimated: Type.Boolean(),
  cached: Type.Boolean({ description: 'True if the answer came from the cache.' }),
  duration_ms: Type.Integer(),
  first_byte_ms: OrNull(
    Type.Integer(),
    'Milliseconds to the first output of a streamed answer; `null` for any other.'
  ),
  end_user: OrNull(Type.String(), "The user of the caller's application."),
  session: OrNull(Type.String(), 'The session that the caller named.'),
  tags: Type.Array(Type.String())
})
export type CallSummary = Static<typeof CallSummary>

export const CallPage = Type.Object({
  ...Page(CallSummary).properties,
  searched_from_ms: OrNull(
    Milliseconds,
    'The search has covered calls back to this time, and `next_cursor` continues before it: a search ' +
    'through many calls stops early. `null` for a full page and for the last one.'
  )
})
export type CallPage = Static<typeof CallPage>

/** One step of a call. */
export const TimelineEntry = Type.Object({
  event: Type.String({
    description:
      '`received`, `auth`: the key was found valid, `wait`: for the body, a limit or tool servers, ' +
      '`route_skipped`, `refused`: by a limit, ' +
      '`attempt`, `attempt_failed`, `first_byte`, `tool_call`, `stage`: a guard inspected texts, or `end`.'
  }),
  after_ms: OrNull(Type.Number(), 'Milliseconds since the call was received, where known.'),
  duration_ms: OrNull(Type.Number()),
  model: Text,
  provider: Text,
  reason: OrNull(
    Type.String(),
    'As in `x-headgate-route`. Of a tool call: `tool_error`, `server_failed`, `not_run` or `cancelled`. ' +
    'Of a refusal: the limit. Of a guard: where it inspected texts, and what it did. Of the end: the ' +
    'error code.'
  ),
  status: OrNull(Type.Integer(), 'HTTP status with which the provider refused.'),
  server: OrNull(Type.String(), 'The tool server.'),
  stage: OrNull(Type.String(), 'The guard.'),
  tool: Text
})
export type TimelineEntry = Static<typeof TimelineEntry>

/** A guard that inspected texts of a call. */
export const StageInspection = Type.Object({
  stage: Type.String(),
  point: OneOf([...guardPoints]),
  took_ms: Type.Number({ description: 'Milliseconds of all inspections at this point.' }),
  findings: Type.Array(
    Type.Object({
      action: Type.String({
        description: '`refuse`, `mask`, `report`; `unavailable`: it could not inspect the texts.'
      }),
      count: Type.Integer()
    })
  )
})

/** A route, and the reason for its rank. */
export const RouteReason = Type.Object({
  model: Type.String(),
  provider: Type.String(),
  reason: Type.String({
    description: 'As in `x-headgate-route`: `score=0.71`, `first_choice`, `wrote_history`, …'
  })
})

/** Whether the request and the answer of a call can be read. */
const KeptBodies = Type.Object({
  state: Type.String({
    description:
      '`kept`; `not_kept`: the project of the call keeps none, or they are not stored yet; `expired`; ' +
      '`dropped`: there was no memory for them.'
  }),
  readable_by: OrNull(Role, 'The lowest role that may read them.'),
  expires_at_ms: OrNull(Milliseconds)
})

export const CallDetail = Type.Object({
  ...CallSummary.properties,
  metadata: Type.Record(Type.String(), Type.String(), {
    description: 'Pairs of texts of the request, without `tags` and `user_id`.'
  }),
  turns: Count,
  wasted_tokens: OrNull(
    Type.Integer(),
    'How many of the tokens belong to requests whose answers were not used; `null` for none.'
  ),
  wasted_usd: OrNull(Type.Number(), 'The part of the cost that these have.'),
  ...byUnitColumn(() => Count),
  image_size: Text,
  image_quality: Text,
  own_provider_key: Type.Boolean(),
  overhead_ms: OrNull(
    Type.Number(),
    'Time that the gateway itself took to the head of the answer, where it is recorded: this and the next ' +
    'two with calls of several steps.'
  ),
  upstream_wait_ms: OrNull(Type.Number()),
  upstream_request_id: Text,
  trace_id: OrNull(Type.String(), 'Id of its distributed trace, where traces are sent.'),
  trace_url: OrNull(
    Type.String(),
    'Where its trace is shown: `telemetry.trace_url` with its id; `null` for a call whose spans are not sent.'
  ),
  error_message: OrNull(Type.String(), 'What the caller read of the error, its first 200 characters.'),
  timeline: Type.Array(TimelineEntry, { description: 'The first 16 attempts and 32 tool calls.' }),
  stages: Type.Array(StageInspection, {
    description: 'The guards of the configuration that inspected it, and what they found: never a text.'
  }),
  candidates: Type.Array(RouteReason, {
    description: 'The routes it could take, best first, at most 8; empty where there was nothing to choose.'
  }),
  bodies: KeptBodies
})
export type CallDetail = Static<typeof CallDetail>

/** One message of GET /admin/v1/live-calls. */
export const LiveCalls = Type.Object({
  calls: Type.Array(CallSummary, {
    description:
      'Calls that have ended since the message before, the oldest first, at most 100: a message comes ' +
      'once a second.'
  }),
  skipped: Type.Boolean({ description: 'True when more had ended, which are left out.' })
})
export type LiveCalls = Static<typeof LiveCalls>

/** Numbers of calls that can be filtered. */
export const callNumbers = {
  attempts: 'attempts',
  turns: 'turns',
  ...byUnitColumn(({ noun }) => noun),
  duration_ms: 'milliseconds in total',
  first_byte_ms: 'milliseconds to the first output of a stream'
} as const

/** Facts of calls that can be filtered by `true` or `false`. */
export const callFacts = {
  streamed: 'The answer was a stream.',
  estimated: 'The usage is an estimate.',
  priced: 'A price is known.',
  cached: 'The answer came from the cache.',
  own_provider_key: 'The caller brought a key of their own for the provider.'
} as const

const callFilters = {
  ...usageFilters,
  ...attributionFilters,
  ...onlyThese({
    outcome: 'outcomes: `ok`, `error`, `client_closed`, `client_too_slow`, `interrupted`',
    status: 'statuses',
    error: 'error codes',
    requested_model: 'models as they were requested',
    request_id: 'request ids',
    image_size: 'sizes of images',
    image_quality: 'qualities of images'
  }),
  ...between(callNumbers),
  ...between({ cost_usd: 'dollars' }, 'string'),
  ...factFilters(),
  search: { description: 'Part of a request id, model, key name or error code.', type: 'string' }
} as const satisfies Record<string, QueryParameter>

function factFilters (): Readonly<Record<keyof typeof callFacts, QueryParameter>> {
  const described = Object.entries(callFacts).map(([name, fact]) => [
    name,
    { description: `\`true\` or \`false\`. ${fact}`, type: 'boolean' }
  ])
  return Object.fromEntries(described) as Record<keyof typeof callFacts, QueryParameter> // of the same names
}

export const callQuery = {
  from_ms: { description: 'First millisecond.', type: 'integer' },
  until_ms: { description: 'Default: now.', type: 'integer' },
  ...callFilters,
  ...pageQuery
} as const satisfies Record<string, QueryParameter>
export const liveQuery = callFilters
export const callExportQuery = {
  from_ms: callQuery.from_ms,
  until_ms: callQuery.until_ms,
  ...callFilters
} as const satisfies Record<string, QueryParameter>
export const callMoment = {
  at_ms: { description: 'The time of the call, which speeds up the lookup.', type: 'integer' }
} as const satisfies Record<string, QueryParameter>
