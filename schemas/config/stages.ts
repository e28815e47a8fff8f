/** `stages` of `headgate.yaml`: what looks at the texts of calls. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, Text } from './entries.ts'

export const stagePoints = ['request', 'answer', 'tool_call', 'tool_result'] as const
export type StagePoint = typeof stagePoints[number]

export const stageActions = ['refuse', 'mask', 'report'] as const
export type StageAction = typeof stageActions[number]

/** The endpoints whose texts stages see. */
export const stageEndpoints = [
  'chat',
  'completions',
  'messages',
  'responses',
  'embeddings',
  'speech'
] as const
export type StageEndpoint = (typeof stageEndpoints)[number]

const OwnPattern = Closed({
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
    patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`',
    description: 'What a finding is called.'
  }),
  match: Type.String({
    minLength: 1,
    maxLength: 500,
    description:
      'A regular expression, without lookaround and back references. `(?i)` at the beginning ignores the case of letters.'
  }),
  max_length: Type.Integer({
    minimum: 1,
    maximum: 4096,
    default: 256,
    description: 'What `*`, `+` and `{2,}` repeat at most.'
  })
})
type OwnPattern = Static<typeof OwnPattern>

export const StageConfig = Closed(
  {
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
      patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`',
      description: 'Its name, in refusals, the log and metrics.'
    }),
    use: OneOf(['pattern'], { description: '`pattern`: looks for patterns.' }),
    at: Type.Array(OneOf([...stagePoints]), {
      minItems: 1,
      default: [...stagePoints],
      description:
        'The texts that it looks at: those of requests and of answers; what tools are called with, by Headgate or by the caller; what tools return.'
    }),
    patterns: Type.Array(
      Type.Unsafe<string | OwnPattern>({
        ...OwnPattern,
        type: ['string', 'object'],
        minLength: 1,
        description: 'A built-in pattern by its name, or one of your own.'
      }),
      {
        minItems: 1,
        maxItems: 50,
        description: 'Built-in patterns by name, or maps of a `name` and what to `match`.'
      }
    ),
    action: OneOf([...stageActions], {
      default: 'mask',
      description:
        'What becomes of a finding: the call is refused; `[name of the pattern]` stands in its place; or it is only counted.'
    }),
    only: Type.Optional(
      Closed(
        {
          endpoints: Type.Optional(
            Type.Array(OneOf([...stageEndpoints]), { minItems: 1, description: 'Endpoints. Default: all.' })
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
        { description: 'The calls that it looks at; all that is said must hold. Default: all calls.' }
      )
    )
  },
  { description: 'A stage that looks at the texts of calls.' }
)
export type StageConfig = Static<typeof StageConfig>
