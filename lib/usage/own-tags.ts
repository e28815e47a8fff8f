/** Finds the tags that the configuration gives to the calls of keys, projects and routes. */

import { projectNamesOf, type ApiKey } from '../core/key.ts'
import type { Settings } from '../core/settings.ts'

/**
 * Returns a function that lists the tags of a key, then those of its project, each by its id or else its
 * name; `undefined` where none has any.
 */
export function ownTags ({
  keys,
  projects
}: Pick<Settings['usage'], 'keys' | 'projects'>): ((key: ApiKey) => readonly string[]) | undefined {
  const ofKeys = new Map(keys.map(({ key, tags }) => [key, tags]))
  const ofProjects = new Map(projects.map(({ project, tags }) => [project, tags]))
  if ([...ofKeys.values(), ...ofProjects.values()].every(tags => tags.length === 0)) return undefined
  return key => {
    const [id, name] = projectNamesOf(key)
    return [
      ...(ofKeys.get(key.id) ?? ofKeys.get(key.name) ?? []),
      ...(ofProjects.get(id) ?? ofProjects.get(name) ?? [])
    ]
  }
}

/**
 * Returns a function that lists the tags of the routes that a call names; `undefined` where none has any.
 */
export function routeTags ({
  routes
}: Pick<Settings['usage'], 'routes'>): ((names: readonly string[]) => readonly string[]) | undefined {
  const ofRoutes = new Map(
    routes.filter(({ tags }) => tags.length > 0).map(({ route, tags }) => [route, tags])
  )
  if (ofRoutes.size === 0) return undefined
  return names => names.flatMap(name => ofRoutes.get(name) ?? [])
}
