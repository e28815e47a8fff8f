import type { RouteConfig } from '../../schemas/config/routes.ts'
import type { Path } from './path.ts'

/** One model of a route, and its position. */
export interface RouteTarget {
  readonly id: string
  readonly path: Path
  readonly weight?: number
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Returns the models of a `routes:` entry in either notation. */
export function routeTargets (name: string, entry: RouteConfig): RouteTarget[] {
  if (Array.isArray(entry)) return entry.map((id, index) => ({ id, path: ['routes', name, index] }))
  return entry.models.map((target, index) => {
    const path = ['routes', name, 'models', index]
    if (typeof target === 'string') return { id: target, path }
    const { model, weight, settings } = target
    return { id: model, path, weight, ...settings !== undefined && { settings } }
  })
}
