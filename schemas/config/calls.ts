/** `calls` of `headgate.yaml`: what is kept of calls besides their usage rows. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Bytes, Closed, day, mebibyte, Milliseconds, Section, Text } from './entries.ts'

/** Redaction of requests and answers that are kept or sent. */
export const Redact = Section(
  {
    fields: Type.Array(Text('Name of a member of JSON.'), {
      default: [],
      maxItems: 100,
      description:
        'Property names whose values are redacted, at any depth, case-insensitively. Properties that hold credentials are always redacted.'
    }),
    patterns: Type.Array(
      Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'A regular expression, without lookaround and back references.'
      }),
      {
        default: [],
        maxItems: 50,
        description:
          'Regular expressions of texts and numbers that are replaced. `(?i)` at the beginning ignores the case of the letters A to Z.'
      }
    )
  },
  'What is replaced by `[redacted]`.'
)

const KeepBodiesConfig = Closed(
  {
    project: Text(
      'Name or id of the project. `default` is the one that keys of the configuration are in as well; `*` stands for every project without an entry.'
    ),
    keep_ms: Milliseconds(7 * day, 'Time that bodies are kept.', 365 * day),
    max_bytes: Type.Integer({
      minimum: 256,
      maximum: mebibyte,
      default: 64 * 1024,
      description: 'Maximum size of a body; the rest of a longer one is dropped.'
    }),
    redact: Redact,
    readable_by: OneOf(['owner', 'admin', 'member'], {
      default: 'admin',
      description: 'The lowest role that may read them.'
    })
  },
  { description: 'A project whose requests and answers are kept.' }
)
export type KeepBodiesConfig = Static<typeof KeepBodiesConfig>

export const CallsConfig = Section(
  {
    keep_bodies: Type.Array(KeepBodiesConfig, {
      default: [],
      description: 'Projects whose requests and answers are kept. Default: none.'
    }),
    kept_memory_bytes: Bytes(
      32 * mebibyte,
      'Memory for bodies that are to be stored, per process; further ones are dropped. Calls never wait for them.'
    )
  },
  'What is kept of calls besides their usage records.'
)
