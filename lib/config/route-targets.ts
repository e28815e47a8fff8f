import type { RouteConfig } from '../../schemas/config.ts'
import type { Path } from './path.ts'

/** One model of a route, and where it stands. */
export interface RouteTarget {
  readonly id: string
  readonly path: Path
  readonly weight?: number
}

/** Returns the models of a `routes:` entry, whichever way it is written. */
export function routeTargets (name: string, entry: RouteConfig): RouteTarget[] {
  if (Array.isArray(entry)) return entry.map((id, index) => ({ id, path: ['routes', name, index] }))
  return entry.models.map((target, index) => {
    const path = ['routes', name, 'models', index]
    return typeof target === 'string' ? { id: target, path } : { id: target.model, path, weight: target.weight }
  })
}
