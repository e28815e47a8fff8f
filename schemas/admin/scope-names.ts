/** Each part of the admin API has a scope to read and one to change, for admin keys. */

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
