/** Finds what `usage:` of the configuration says about keys, projects and routes. */

import { projectNamesOf, type ApiKey } from '../core/key.ts'
import type { Settings } from '../core/settings.ts'

/**
 * Returns a function that lists the tags of a key, then of its project, each found by id or name; `undefined`
 * if none has tags.
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

/** Returns a function that lists the tags of the routes in a call; `undefined` if none has tags. */
export function routeTags ({
  routes
}: Pick<Settings['usage'], 'routes'>): ((names: readonly string[]) => readonly string[]) | undefined {
  const ofRoutes = new Map(
    routes.filter(({ tags }) => tags.length > 0).map(({ route, tags }) => [route, tags])
  )
  if (ofRoutes.size === 0) return undefined
  return names => names.flatMap(name => ofRoutes.get(name) ?? [])
}

/**
 * Returns a function that tells whether costs are hidden from the project of a key, given by id or name;
 * `undefined` if all projects see costs.
 */
export function costHiding ({
  exposeCost,
  projects
}: Settings['usage']): ((key: ApiKey) => boolean) | undefined {
  if (exposeCost && projects.every(project => project.exposeCost)) return undefined
  const exposed = new Map(projects.map(({ project, exposeCost: own }) => [project, own]))
  return key => {
    const [id, name] = projectNamesOf(key)
    return !(exposed.get(id) ?? exposed.get(name) ?? exposeCost)
  }
}
