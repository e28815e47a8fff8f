/** Fields for the gateway itself, which any request may have; they are not sent to providers. */

import { Type, type Static } from 'typebox'
import { AnyObject, MapOf, ModelName, Nullable, type WithoutNulls } from './nullable.ts'

const ModelNames = Type.Array(ModelName, { maxItems: 10 })

/** For requests that guards inspect. */
export const guardsOption = {
  guardrails: Nullable(
    Type.Array(Type.Union([Type.String({ minLength: 1, maxLength: 64 }), AnyObject]), { maxItems: 64 }),
    {
      description:
        'Names of guards of the configuration that inspect this call, in addition to those that inspect ' +
        'every call; an object names one by `guardrail_name`, and has no effect otherwise.'
    }
  )
}

/** For requests to any model. */
export const commonOptions = {
  num_retries: Nullable(Type.Integer({ minimum: 0 }), {
    description:
      'Further attempts at a model that failed: at most this many, and never more than its provider has.'
  }),
  timeout: Nullable(Type.Number({ exclusiveMinimum: 0 }), {
    description:
      'Seconds after which the call ends with 504; it can only shorten the time that `limits.call_ms` ' +
      'allows.'
  }),
  tags: Nullable(Type.Union([Type.String(), Type.Array(Type.String())]), {
    description: 'Tags of the call, a list or a text with commas: at most 20, cut at 64 characters.'
  }),
  drop_params: Nullable(Type.Boolean(), {
    description:
      'Fields that a provider does not know are dropped whenever the request is translated; `false` has ' +
      'no effect.'
  })
}

/** For requests whose answers may be cached; a model may have it as a setting. */
export const cacheOption = {
  cache: Nullable(
    Type.Union([
      Type.Boolean(),
      Type.Object({
        ttl: Type.Optional(
          Type.Number({ minimum: 0, description: 'Seconds for which the answer may be given again.' })
        ),
        's-maxage': Type.Optional(
          Type.Number({ minimum: 0, description: 'Maximum age of a cached answer, in seconds.' })
        ),
        'no-cache': Type.Optional(Type.Boolean({ description: 'Generate a new answer, and cache it.' })),
        'no-store': Type.Optional(
          Type.Boolean({ description: 'Generate a new answer, and do not cache it.' })
        ),
        namespace: Type.Optional(
          Type.String({ maxLength: 256, description: 'Calls of another namespace are never equal.' })
        )
      })
    ]),
    {
      description:
        'Whether an equal call may get the same answer again, where the gateway keeps answers; `false`: ' +
        'not this one.'
    }
  )
}

/** For requests whose answers have `usage`. */
const usageOption = {
  usage: Nullable(
    Type.Object({
      include: Type.Optional(
        Type.Boolean({
          description: 'Put `cost` into `usage` of the answer, also of a stream.'
        })
      )
    }),
    { description: 'What `usage` of the answer has.' }
  )
}

/** For requests that several models may answer. */
export const callOptions = {
  fallbacks: Nullable(
    Type.Array(Type.Union([ModelName, MapOf(Type.Union([ModelName, ModelNames]))]), { maxItems: 10 }),
    {
      description:
        'Models to try after those of `model`: names, `{"model": name}`, or lists by the name in `model` ' +
        'that they are for (`{"gpt-5": ["gpt-5-mini"]}`; `*` for any).'
    }
  ),
  ...commonOptions,
  ...cacheOption,
  ...usageOption,
  ...guardsOption
}

const CallOptions = Type.Object(callOptions)

/** The options of a request after `validate`. */
export type CallOptionFields = WithoutNulls<Static<typeof CallOptions>>
export const callOptionNames = Object.keys(callOptions)
