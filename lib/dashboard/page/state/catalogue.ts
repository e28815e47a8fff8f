/**
 * Models, endpoints, tool servers and guards by name, for suggestions. Loaded once, when a form first needs
 * them.
 */

import { signal } from '@preact/signals'
import { endpointNames, endpointsWhere } from '../../../../schemas/endpoints.ts'
import { api, type Answer } from '../api/client.ts'
import { may } from './session.ts'

export type CatalogueEntry = Answer<'GET /admin/v1/models'>['data'][number]

export const catalogue = signal<readonly CatalogueEntry[]>([])
export const toolServers = signal<readonly string[]>([])
export const stageNames = signal<readonly string[]>([])

/** The endpoints that keys may be limited to. */
const ungranted: readonly string[] = endpointsWhere('needsNoGrant')
export const grantedEndpoints = endpointNames.filter(name => !ungranted.includes(name))

let loaded = false

/** Suggestions are optional: without them every name can still be typed. */
export async function loadCatalogue (): Promise<void> {
  if (loaded) return
  loaded = true
  const [models, servers, stages] = await Promise.allSettled([
    api('GET /admin/v1/models'),
    may('member') ? api('GET /admin/v1/tool-servers') : { data: [] },
    may('member') ? api('GET /admin/v1/stages') : { data: [] }
  ])
  if (models.status === 'fulfilled') catalogue.value = models.value.data
  else loaded = false
  if (servers.status === 'fulfilled') toolServers.value = servers.value.data.map(({ slug }) => slug)
  if (stages.status === 'fulfilled') stageNames.value = stages.value.data.map(({ name }) => name)
}

/** Returns true for a model that answers messages; models for transcription or speech stream text as well. */
export function isChatModel ({
  kind,
  capabilities: { text, streaming, tools, audio }
}: CatalogueEntry): boolean {
  return kind !== 'model' || (text === true && streaming === true && (tools === true || audio !== true))
}

/** Returns the patterns and ids that a list of models may contain. */
export function modelPatterns (): readonly string[] {
  const providers = new Set(
    catalogue.value.filter(({ kind }) => kind === 'model').map(({ id }) => `${id.split('/', 1)[0] ?? ''}/*`)
  )
  return [...providers, ...catalogue.value.map(({ id }) => id)]
}
