/** Scopes of admin keys: each part of the admin API has one to read and one to change. */

const parts = [
  'users',
  'projects',
  'keys',
  'usage',
  'calls',
  'bodies',
  'models',
  'configuration',
  'audit',
  'alerts'
] as const

export const scopeNames = parts.flatMap(part => [`${part}:read`, `${part}:write`] as const)
