/** Reads what the tool servers of all gateways have in common. */

import { listOf } from '../json/type-guards.ts'
import type { ImportPlan } from './plan.ts'

/** Returns the name here of another gateway's tool server, unless it is taken. */
export function toolServerSlug (source: string, name: string): string {
  return `${source}/${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`
}

/** Returns an unused name for a tool server. */
export function freeSlug (wanted: string, servers: Readonly<Record<string, unknown>>): string {
  let slug = wanted
  for (let number = 2; Object.hasOwn(servers, slug); number++) slug = `${wanted}-${number}`
  return slug
}

/** Words that precede a secret, or a text that is almost certainly one. */
const secretArgument = /key|token|secret|passw|auth|bearer|credential|^[\w+=-]{24,}$/i

/** Returns the arguments of a command; none if one may be a secret, or may follow the name of one. */
export function plainArguments (args: unknown, path: string, plan: ImportPlan): readonly string[] {
  const texts = listOf(args).map(String)
  const isPlain = !texts.some(text => secretArgument.test(text))
  if (isPlain) plan.note(path, 'exact', 'arguments of the command')
  else plan.note(path, 'manual', 'add them by hand, and let the command read its secrets from `env`')
  return isPlain ? texts : []
}
