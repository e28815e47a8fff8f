/** Validates manifests with the schemas of Kubernetes. */

import { StatefulSet } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { Job } from 'kubernetes-models/batch/v1'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Service } from 'kubernetes-models/v1'

export interface Manifest {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: Record<string, unknown>
  readonly data?: Readonly<Record<string, string>>
}

const kinds = [
  ConfigMap,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  StatefulSet
]

/**
 * Validates a manifest, and lists the fields that the validation never read: Kubernetes does not know them.
 * @throws Error for a field of the wrong type, or a missing one
 */
export function unreadFields (manifest: Manifest): string[] {
  const unread = new Set<string>()
  const watch = (value: unknown, path: string): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const isList = Array.isArray(value)
    const watched = Object.entries(value).map(([name, inner]) => {
      if (!isList) unread.add(`${path}/${name}`)
      return [name, watch(inner, `${path}/${name}`)] as const
    })
    return new Proxy<object>(isList ? watched.map(([, inner]) => inner) : Object.fromEntries(watched), {
      get: (target, name, receiver) => {
        unread.delete(`${path}/${String(name)}`)
        return Reflect.get(target, name, receiver) as unknown
      }
    })
  }
  const kind = kinds.find(({ kind }) => kind === manifest.kind)
  if (kind === undefined) throw new Error(`${manifest.kind} is not checked here`)
  kind.prototype.validate.call(watch(manifest, ''))
  return [...unread]
}
