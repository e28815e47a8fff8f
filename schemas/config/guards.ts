/** `stages` of `headgate.yaml`: guards, which inspect the texts of calls. */

import { Type, type Static } from 'typebox'
import { endpointsWhere } from '../endpoints.ts'
import { OneOf } from '../nullable.ts'
import { Closed, HttpUrl, mebibyte, Text } from './entries.ts'
import { headerName, Secret } from './secret.ts'

/** The texts that a guard sees: of requests, of answers, arguments of tool calls, results of tools. */
export const guardPoints = ['request', 'answer', 'tool_call', 'tool_result'] as const
export type GuardPoint = (typeof guardPoints)[number]

const guardActions = ['refuse', 'mask', 'report'] as const
export type GuardAction = (typeof guardActions)[number]

const webhookFormats = ['headgate', 'litellm'] as const
export type WebhookFormat = (typeof webhookFormats)[number]

interface GuardKindFacts {
  /** A filter decides synchronously (`guards/configured-guards`), a judge later (`judges/open-judges`). */
  readonly implementation: 'filter' | 'judge'
  /** Required entries. */
  readonly needs: readonly string[]
  /** Optional entries of this kind. */
  readonly takes: readonly string[]
  /** Possible actions on a finding; the first is the default. */
  readonly actions: readonly GuardAction[]
}

/** Entries of kinds that take time to decide. */
const judgeEntries = ['timeout_ms', 'when_unavailable', 'during', 'stream', 'window'] as const

/** How much of a stream is inspected at a time, if not configured. */
export const defaultWindow = { characters: 800, overlap: 200, maxWaitMs: 1000 } as const

/** Entries of kinds that call a service. */
const serviceEntries = ['headers', 'retries', 'max_bytes'] as const

/** The kinds of guards, by the value of `use`; `module` stands for the path of a file. */
export const guardKinds = {
  pattern: {
    implementation: 'filter',
    needs: ['patterns'],
    takes: ['reversible', 'unmask_for'],
    actions: ['mask', 'refuse', 'report']
  },
  moderation: {
    implementation: 'judge',
    needs: ['model'],
    takes: ['categories', ...judgeEntries],
    actions: ['refuse', 'report']
  },
  prompt_injection: {
    implementation: 'judge',
    needs: ['model'],
    takes: ['prompt', 'timeout_ms', 'when_unavailable', 'during'],
    actions: ['refuse', 'report']
  },
  presidio: {
    implementation: 'judge',
    needs: ['analyzer_url', 'anonymizer_url'],
    takes: ['language', 'entities', 'score_threshold', ...serviceEntries, ...judgeEntries],
    actions: ['mask', 'refuse', 'report']
  },
  webhook: {
    implementation: 'judge',
    needs: ['url'],
    takes: ['format', 'secret', 'options', ...serviceEntries, ...judgeEntries],
    actions: ['mask', 'refuse', 'report']
  },
  module: {
    implementation: 'judge',
    needs: [],
    takes: ['options', ...judgeEntries],
    actions: ['mask', 'refuse', 'report']
  }
} as const satisfies Readonly<Record<string, GuardKindFacts>>
export type GuardKind = keyof typeof guardKinds

type Facts = typeof guardKinds
type KindsBy<Implementation extends GuardKindFacts['implementation']> = {
  [Kind in GuardKind]: Facts[Kind]['implementation'] extends Implementation ? Kind : never
}[GuardKind]
export type FilterKind = KindsBy<'filter'>
export type JudgeKind = KindsBy<'judge'>

/** The kinds that have a name in `use`. */
const namedGuardKinds = (Object.keys(guardKinds) as GuardKind[]) // its keys
  .filter(kind => kind !== 'module')

/** Returns the kind that `use` says. */
export function guardKindOf (use: string): GuardKind {
  return namedGuardKinds.find(kind => kind === use) ?? 'module'
}

export function isJudgeKind (kind: GuardKind): kind is JudgeKind {
  return guardKinds[kind].implementation === 'judge'
}

/** Returns what becomes of a finding. */
export function guardActionOf ({
  use,
  action
}: {
  readonly use: string
  readonly action?: GuardAction | undefined
}): GuardAction {
  return action ?? guardKinds[guardKindOf(use)].actions[0]
}

const OwnPattern = Closed({
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
    patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`',
    description: 'Name of the findings.'
  }),
  match: Type.String({
    minLength: 1,
    maxLength: 500,
    description:
      'A regular expression, without lookaround and back references. `(?i)` at the beginning ignores the ' +
      'case of the letters A to Z.'
  }),
  max_length: Type.Integer({
    minimum: 1,
    maximum: 4096,
    default: 256,
    description: 'How often `*`, `+` and `{2,}` may repeat.'
  })
})
type OwnPattern = Static<typeof OwnPattern>

/** Entries that only some kinds have: what they are by default is in their description. */
const kindEntries = {
  patterns: Type.Optional(
    Type.Array(
      Type.Unsafe<string | OwnPattern>({
        ...OwnPattern,
        type: ['string', 'object'],
        minLength: 1,
        description: 'A built-in pattern by its name, or one of your own.'
      }),
      {
        minItems: 1,
        maxItems: 50,
        description: '`pattern` only: built-in patterns by name, or maps of a `name` and what to `match`.'
      }
    )
  ),
  reversible: Type.Optional(
    Type.Boolean({
      description:
        '`pattern` only: with `true`, a finding is replaced by a placeholder such as `<EMAIL_k7q2m3xw>`, ' +
        'and put back into the answer for the caller. Default: false.'
    })
  ),
  unmask_for: Type.Optional(
    Type.Array(OneOf(['server']), {
      description:
        '`pattern` with `reversible` only: who gets the findings besides the caller; `server`: tools that ' +
        'Headgate calls. Default: nobody.'
    })
  ),
  options: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Modules and `webhook` only: passed to the module, or sent with each request, in the form of ' +
        'LiteLLM as `additional_provider_specific_params`.'
    })
  ),
  model: Type.Optional(Text('Of `moderation` and `prompt_injection`: the model, as `provider/model`.')),
  prompt: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 20_000,
      description:
        'Of `prompt_injection`: the instructions of the model. Default: to look for attempts to give ' +
        'orders to the model of the call.'
    })
  ),
  categories: Type.Optional(
    Type.Array(Text('A category of the model.'), {
      minItems: 1,
      description: 'Of `moderation`: the categories that count. Default: all.'
    })
  ),
  analyzer_url: Type.Optional(
    HttpUrl('Of `presidio`: the address of its analyzer; `/analyze` is appended.')
  ),
  anonymizer_url: Type.Optional(
    HttpUrl('Of `presidio`: the address of its anonymizer; `/anonymize` is appended.')
  ),
  language: Type.Optional(Text('Of `presidio`: the language of texts. Default: `en`.')),
  entities: Type.Optional(
    Type.Array(Text('A type of entities, such as `EMAIL_ADDRESS`.'), {
      minItems: 1,
      description: 'Of `presidio`: what to look for. Default: all that the analyzer knows.'
    })
  ),
  score_threshold: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Of `presidio`: minimum score of a finding. Default: that of the analyzer.'
    })
  ),
  url: Type.Optional(HttpUrl('`webhook` only: the address of the service.')),
  format: Type.Optional(
    OneOf([...webhookFormats], {
      description:
        "`webhook` only: the form of its requests and answers, Headgate's or that of the generic " +
        'guardrail API of LiteLLM. Default: `headgate`.'
    })
  ),
  secret: Type.Optional(
    Secret('`webhook` only: signs its requests, as Standard Webhooks says. Default: they are not signed.')
  ),
  headers: Type.Optional(
    Type.Record(Type.String(), Secret('Value of this header.'), {
      description: 'Service-based kinds only: sent with every request. Default: none.',
      propertyNames: headerName
    })
  ),
  retries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10,
      description:
        'Service-based kinds only: how often a request is sent again after a failure that may pass, ' +
        'within `timeout_ms`. Default: 1.'
    })
  ),
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 1024,
      maximum: 1024 * mebibyte,
      description:
        'Service-based kinds only: the largest request and answer; the guard is unavailable for what is ' +
        'larger. Default: 4194304.'
    })
  ),
  timeout_ms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 600_000,
      description: 'Longest time for one inspection. Default: 5000. Not for `pattern`.'
    })
  ),
  when_unavailable: Type.Optional(
    OneOf(['refuse', 'pass'], {
      description:
        'What happens to a call that it cannot inspect, after an error or `timeout_ms`: it is refused, or ' +
        'it passes, and the log, the metrics and the record of the call say so. Default: `refuse`, and ' +
        '`pass` with `action: report`. Not for `pattern`.'
    })
  ),
  during: Type.Optional(
    Type.Boolean({
      description:
        'With `true`, it inspects a request of a conversation or completion while the provider answers: ' +
        'the caller gets nothing before its verdict, and a refusal cancels the request to the provider. ' +
        'Only with `action: refuse`, and not for `pattern`. Default: false.'
    })
  ),
  stream: Type.Optional(
    OneOf(['windows', 'complete'], {
      description:
        'How streamed answers are inspected: a `window` at a time, or only when they are complete, for ' +
        'which their callers wait. Default: `windows`. Not for `pattern`.'
    })
  ),
  window: Type.Optional(
    Closed(
      {
        characters: Type.Integer({
          minimum: 1,
          maximum: 100_000,
          default: defaultWindow.characters,
          description: 'Characters of a text that are inspected at a time, before the `overlap`.'
        }),
        overlap: Type.Integer({
          minimum: 0,
          maximum: 100_000,
          default: defaultWindow.overlap,
          description: 'Characters at its end that wait and are inspected again with what follows.'
        }),
        max_wait_ms: Type.Integer({
          minimum: 1,
          maximum: 600_000,
          default: defaultWindow.maxWaitMs,
          description: 'Longest time that a text longer than `overlap` waits for more of it.'
        })
      },
      { description: 'How much of a stream is inspected at a time. Not for `pattern`.' }
    )
  )
}

export const guardKindEntries = Object.keys(kindEntries)

export const GuardConfig = Closed(
  {
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
      patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`',
      description: 'Its name, in refusals, the log and metrics.'
    }),
    use: Type.String({
      pattern: `^(${namedGuardKinds.join('|')}|\\.{0,2}/.*\\.[cm]?js)$`,
      patternErrorMessage: `must be ${namedGuardKinds.map(kind => `\`${kind}\``).join(', ')}, or the path of a module (./stages/mine.js)`,
      description:
        '`pattern`: looks for patterns. `moderation`: asks a model for moderation. `prompt_injection`: ' +
        'asks a model whether a text gives orders to the model of the call. `presidio`: asks the services ' +
        'of Presidio. `webhook`: asks a service of yours. A path such as `./stages/mine.js`, from the ' +
        'directory of this file: a module of your own.'
    }),
    at: Type.Array(OneOf([...guardPoints]), {
      minItems: 1,
      default: [...guardPoints],
      description:
        'The texts that it inspects: of requests, of answers, arguments of tool calls (run by Headgate or ' +
        'by the caller), and results of tools.'
    }),
    action: Type.Optional(
      OneOf([...guardActions], {
        description:
          'What happens on a finding: the call is refused; the finding is replaced, such as by `[name of ' +
          'the pattern]`; or it is only counted. Default: `mask`; for `moderation` and ' +
          '`prompt_injection`, which can only refuse or report, `refuse`.'
      })
    ),
    ...kindEntries,
    when: Type.Optional(
      OneOf(['always', 'asked'], {
        description:
          '`always`: it inspects all calls of `only`. `asked`: only calls whose key, project or request ' +
          'names it. Default: `always`.'
      })
    ),
    only: Type.Optional(
      Closed(
        {
          endpoints: Type.Optional(
            Type.Array(OneOf(endpointsWhere('hasTexts')), {
              minItems: 1,
              description: 'Endpoints. Default: all.'
            })
          ),
          keys: Type.Optional(
            Type.Array(Text('Name or id of a key.'), { minItems: 1, description: 'Keys. Default: all.' })
          ),
          projects: Type.Optional(
            Type.Array(Text('Name or id of a project.'), {
              minItems: 1,
              description: 'Projects. Default: all.'
            })
          ),
          models: Type.Optional(
            Type.Array(Text('A model id, or `provider/*`.'), {
              minItems: 1,
              description: 'Models: calls that any of them may answer. Default: all.'
            })
          )
        },
        {
          description:
            'The calls that it inspects: those that meet all of these conditions, and those whose key, ' +
            'project or request names the guard. Default: all calls.'
        }
      )
    )
  },
  { description: 'A guard that inspects the texts of calls.' }
)
export type GuardConfig = Static<typeof GuardConfig>
