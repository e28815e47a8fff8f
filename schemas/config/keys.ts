/** `keys` of `headgate.yaml`, and the limits of a key. */

import { Type, type Static, type TInteger, type TOptional } from 'typebox'
import { countedLimitNames, countedLimits, type CountedLimitName } from './counted-limits.ts'
import { OneOf } from '../nullable.ts'
import { maxNameLength } from '../admin/common.ts'
import { Closed, Text } from './entries.ts'
import { Secret } from './secret.ts'

const counts = Object.fromEntries(
  countedLimitNames.map(name => {
    const { maximum, description } = countedLimits[name]
    return [name, Type.Optional(Type.Integer({ minimum: 1, maximum, description }))]
  })
) as Record<CountedLimitName, TOptional<TInteger>> // its names are those

const usd = Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'US dollars.' })
const per = OneOf(['hour', 'day', 'week', 'month', 'total'], {
  description:
    'Period: hour, day, week (from Monday on), month or total, in UTC or in `time_zone`. Default: month.'
})
const timeZonePattern = '^[A-Za-z][A-Za-z0-9+_/-]*$'
export const lengthPattern = '^[1-9][0-9]{0,4}[smhd]$'
export const timePattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2})$'

/**
 * Messages for a configuration whose text does not match. They are not in the schemas, which the admin API
 * serves as well.
 */
export const budgetPatternMessages: Readonly<Record<string, string>> = {
  [timeZonePattern]: 'must be the name of a time zone, such as Europe/Berlin',
  [lengthPattern]: 'must be a length such as 30d, 12h, 90m or 45s',
  [timePattern]: 'must be a time such as 2030-01-31T00:00:00Z'
}

const timeZone = Type.Optional(
  Type.String({
    maxLength: 64,
    pattern: timeZonePattern,
    description: 'Time zone of the period, such as Europe/Berlin. Default: UTC.'
  })
)
const every = Type.Optional(
  Type.String({
    pattern: lengthPattern,
    description:
      'In place of `per`: periods of this length (s, m, h, d), one after the other. Needs `from`.'
  })
)
const from = Type.Optional(
  Type.String({
    pattern: timePattern,
    description: 'With `every`: when one of these periods begins.'
  })
)
const unpriced = Type.Optional(
  OneOf(['allow', 'refuse'], {
    description:
      'Whether calls that count in it may use models and fields without a known price, which count as free. ' +
      'Default: refuse.'
  })
)
const soft = Type.Optional(
  Type.Boolean({
    description:
      'True: it refuses and shortens nothing; once it is used up, the log and alerts say so. Default: false.'
  })
)
const strict = Type.Optional(
  Type.Boolean({
    description:
      'Reserve the most a call can cost, and shorten answers to what is left, so that budgets are not ' +
      'exceeded. Default: true where there is a budget.'
  })
)
const limitsNotes = { description: 'Limits of a key; without an entry there is no limit.' }
const severalNotes = {
  maxItems: 8,
  description: 'Several budgets instead of `budget`; all of them apply.'
}

/** A budget as the configuration and the admin API have it. */
export const BudgetConfig = Closed(
  { usd, per: Type.Optional(per), time_zone: timeZone, every, from, unpriced, soft },
  { description: 'The most that calls may cost in a period.' }
)

const budgets = {
  budget: Type.Optional(BudgetConfig),
  budgets: Type.Optional(Type.Array(BudgetConfig, severalNotes)),
  strict
}

/** Limits as the configuration and the admin API have them. */
export const PartyLimitsConfig = Closed({ ...counts, ...budgets }, limitsNotes)

export const TagBudgetsConfig = Closed(
  {
    tag: Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'The tag. It counts where a key, a project or a route has it in `usage`; tags of callers do not.'
    }),
    ...budgets
  },
  { description: 'Budgets of a tag.' }
)

export const ModelBudgetsConfig = Closed(
  { model: Text('A model id, an alias or a route, as requests name it.'), ...budgets },
  { description: 'Budgets of a model.' }
)

export const KeyConfig = Closed(
  {
    name: Type.String({
      minLength: 1, maxLength: maxNameLength, description: 'Name in the log and in usage records.'
    }),
    key: Secret('The key callers send.'),
    endpoints: Type.Optional(
      Type.Array(Text('An endpoint: `chat`, `embeddings`, …'), {
        description: 'The only endpoints it may call. Default: all.'
      })
    ),
    models: Type.Optional(
      Type.Array(Text('A model id, or `provider/*`.'), {
        description: 'The only models it may use. Default: all.'
      })
    ),
    mcp_servers: Type.Optional(
      Type.Array(Text('A tool server, `org/name`, or `*`.'), {
        description: 'The only tool servers it may name. Default: all.'
      })
    ),
    provider_objects: Type.Optional(
      Type.Boolean({
        description:
          "True: its calls may use files, containers and threads in the gateway's accounts at providers, which all such keys share. Default: false."
      })
    ),
    stages: Type.Optional(
      Type.Array(Text('The name of a guard.'), {
        maxItems: 64,
        description: 'Guards that inspect all of its calls, whatever a request asks for. Default: none.'
      })
    ),
    mcp_urls: Type.Optional(
      Type.Boolean({
        description:
          'True: its calls may name tool servers by URL. Default: true if it may name all tool servers.'
      })
    ),
    expires_at: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2}))?$',
        patternErrorMessage: 'must be a date (2030-12-31) or a time (2030-12-31T18:00:00Z)',
        description: 'When the key expires: a time, or a date, which means 00:00 UTC of that day.'
      })
    ),
    limits: Type.Optional(PartyLimitsConfig)
  },
  { description: 'A key that callers send to this gateway.' }
)
export type KeyConfig = Static<typeof KeyConfig>
