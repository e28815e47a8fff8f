/** `end_users` of `headgate.yaml`: the users of callers' applications. */

import { Type } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Section } from './entries.ts'
import { BudgetConfig } from './keys.ts'

export const EndUsersConfig = Section(
  {
    store: OneOf(['as_given', 'hashed'], {
      default: 'as_given',
      description:
        'Whether records, logs, spans and exports have the names of end users as callers give them, or digests.'
    }),
    required: Type.Boolean({
      default: false,
      description: 'Refuse calls to models that name no end user.'
    }),
    default_budget: Type.Optional(BudgetConfig),
    budgets: Type.Optional(
      Type.Array(BudgetConfig, {
        maxItems: 8,
        description: 'Several budgets instead of `default_budget`; all of them apply.'
      })
    ),
    strict: Type.Optional(
      Type.Boolean({
        description:
          'Reserve the most a call can cost, and shorten answers to what is left, so that budgets are not ' +
          'exceeded. Default: true.'
      })
    )
  },
  "Users of callers' applications. A budget here applies to each of them separately, per project."
)
