/** The configuration in effect, and the editor of its file. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Milliseconds, OrNull, Request } from './common.ts'

export const ConfigurationProblem = Type.Object({
  file: Type.String(),
  line: Type.Integer({ description: 'From 1; 0 where there are no lines.' }),
  column: Type.Integer(),
  path: Type.String({ description: '`providers.openai.base_url`' }),
  message: Type.String(),
  suggestion: OrNull(Type.String())
})
export type ConfigurationProblem = Static<typeof ConfigurationProblem>

/** Secrets are shown as their references: `env:OPENAI_API_KEY`. */
export const ConfigurationEntry = Type.Object({
  path: Type.String({ description: '`server.port`' }),
  value: Type.Unknown({ description: 'A value that is neither a map nor a list of maps.' }),
  origin: OneOf(['file', 'environment', 'default']),
  variable: OrNull(Type.String(), 'The variable it comes from.')
})
export type ConfigurationEntry = Static<typeof ConfigurationEntry>

export const Configuration = Type.Object({
  file: OrNull(Type.String(), 'The file, relative to the working directory; `null` where there is none.'),
  text: OrNull(Type.String(), 'Of the file, for owners and admins.'),
  revision: Type.String({ description: 'Digest of the text: send it back when saving.' }),
  editable: Type.Boolean({ description: 'True when the one who is signed in may save it here.' }),
  entries: Type.Array(ConfigurationEntry, { description: 'Every entry in effect.' }),
  warnings: Type.Array(ConfigurationProblem),
  reloads: Type.Array(
    Type.Object({
      at_ms: Milliseconds,
      changed: Type.Array(Type.String()),
      needs_restart: Type.Array(Type.String())
    }),
    {
      description: 'Of this process, the newest first.'
    }
  )
})
export type Configuration = Static<typeof Configuration>

export const ConfigurationDraft = Request({ text: Type.String({ maxLength: 1_000_000 }) })
export type ConfigurationDraft = Static<typeof ConfigurationDraft>

export const ConfigurationCheck = Type.Object({
  valid: Type.Boolean(),
  problems: Type.Array(ConfigurationProblem),
  warnings: Type.Array(ConfigurationProblem),
  changed: Type.Array(Type.String(), {
    description: 'Entries that would change: `providers.openai`, `routes`.'
  }),
  needs_restart: Type.Array(Type.String()),
  diff: Type.Array(Type.Object({ kind: OneOf(['same', 'added', 'removed']), text: Type.String() }), {
    description: 'Line by line, from the file to the draft.'
  })
})
export type ConfigurationCheck = Static<typeof ConfigurationCheck>

export const ConfigurationSave = Request({
  text: Type.String({ maxLength: 1_000_000 }),
  revision: Type.String({ maxLength: 128 })
})
export type ConfigurationSave = Static<typeof ConfigurationSave>
