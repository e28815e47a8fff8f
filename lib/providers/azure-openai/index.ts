/**
 * Azure OpenAI: OpenAI's API with other paths and another credential header. The model is the name of a
 * deployment. Base URL: `https://<resource>.openai.azure.com`.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/reference
 */

import type { Adapter, Adapters, UpstreamRequest } from '../provider.ts'

type Served = 'chat' | 'embeddings' | 'images' | 'imageEdits' | 'speech' | 'transcription' | 'translation'

/**
 * Returns OpenAI's adapters with Azure's paths.
 *
 * @param options provider options: with `api_version`, each deployment has its own path; without, the
 *   unversioned API is used
 */
export function azureOpenaiAdapters (
  openai: Required<Pick<Adapters, Served>>,
  { api_version: version }: Readonly<Record<string, unknown>>
): Adapters {
  const apiVersion = typeof version === 'string' ? version : undefined
  return {
    chat: atAzure(openai.chat, apiVersion),
    embeddings: atAzure(openai.embeddings, apiVersion),
    images: atAzure(openai.images, apiVersion),
    imageEdits: atAzure(openai.imageEdits, apiVersion),
    speech: atAzure(openai.speech, apiVersion),
    transcription: atAzure(openai.transcription, apiVersion),
    translation: atAzure(openai.translation, apiVersion)
  }
}

function atAzure<R, E> (adapter: Adapter<R, E>, apiVersion: string | undefined): Adapter<R, E> {
  const at = (request: UpstreamRequest, deployment: string): UpstreamRequest =>
    ({ ...request, path: pathOf(request.path, deployment, apiVersion) })
  const { request, deleteResponse } = adapter
  return {
    ...adapter,
    request: input => at(request(input), input.route.model),
    ...deleteResponse !== undefined && { deleteResponse: id => at(deleteResponse(id), '') }
  }
}

function pathOf (path: string, deployment: string, apiVersion: string | undefined): string {
  if (apiVersion === undefined) return `/openai/v1${path}`
  // Responses requests name the deployment in the body.
  const isResponses = path.startsWith('/responses')
  const deploymentPath = isResponses ? path : `/deployments/${encodeURIComponent(deployment)}${path}`
  return `/openai${deploymentPath}?api-version=${encodeURIComponent(apiVersion)}`
}

/** Returns the credential headers for a resource key. */
export function azureOpenaiHeaders (key: string): Record<string, string> {
  return { 'api-key': key }
}
