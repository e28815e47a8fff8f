/** `keys` of `headgate.yaml`, and the limits that a key may have. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, Text } from './entries.ts'
import { Secret } from './secret.ts'

const rateLimits = {
  requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Calls to providers per minute; a full minute\'s amount may be used at once.' })),
  tokens_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Tokens per minute, prompt and completion together.' })),
  concurrent_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Concurrent calls.' }))
}
const usd = Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'Dollars.' })
const per = OneOf(['day', 'month', 'total'], { default: 'month', description: 'Period in UTC: day, month or total.' })
const unpriced = Type.Optional(OneOf(['allow', 'refuse'], {
  description: 'Whether the key may use models and fields without a known price, which count as free. Default: refuse.'
}))
const budgetNotes = { description: 'Budget.' }
const strict = Type.Optional(Type.Boolean({
  description: 'Limit the length of each answer to what is left of the budget. Default: true for a key with a budget.'
}))
const limitsNotes = { description: 'Limits of a key; without an entry there is no limit.' }

/** Limits as the configuration has them once defaults are filled in, and as the admin API shows them. */
export const KeyLimitsConfig = Closed({ ...rateLimits, budget: Type.Optional(Closed({ usd, per, unpriced }, budgetNotes)), strict }, limitsNotes)

/** Limits in a request to the admin API: a budget without a period is one of a month. */
export const KeyLimitsRequest = Closed({
  ...rateLimits, budget: Type.Optional(Closed({ usd, per: Type.Optional(per), unpriced }, budgetNotes)), strict
}, limitsNotes)

export const KeyConfig = Closed({
  name: Text('Name in the log and in usage records.'),
  key: Secret('The key callers send.'),
  endpoints: Type.Optional(Type.Array(Text('An endpoint: `chat`, `embeddings`, …'), {
    description: 'The only endpoints it may call. Default: all.'
  })),
  models: Type.Optional(Type.Array(Text('A model id, or `provider/*`.'), {
    description: 'The only models it may use. Default: all.'
  })),
  mcp_servers: Type.Optional(Type.Array(Text('A tool server, `org/name`, or `*`.'), {
    description: 'The only tool servers it may name. Default: all.'
  })),
  provider_objects: Type.Optional(Type.Boolean({
    description: 'True: its calls may use files, containers and threads in the gateway\'s accounts at providers, which all such keys share. Default: false.'
  })),
  mcp_urls: Type.Optional(Type.Boolean({
    description: 'True: its calls may name tool servers by URL. Default: true if it may name all tool servers.'
  })),
  expires_at: Type.Optional(Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2}))?$',
    patternErrorMessage: 'must be a date (2030-12-31) or a time (2030-12-31T18:00:00Z)',
    description: 'A date, from its first second in UTC, or a time.'
  })),
  limits: Type.Optional(KeyLimitsConfig)
}, { description: 'A key callers present to this gateway.' })
export type KeyConfig = Static<typeof KeyConfig>
