/**
 * Azure OpenAI: the dialect at other addresses and with another credential header. The model is
 * the name of a deployment. Base URL: `https://<resource>.openai.azure.com`.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/reference
 */

import { chatCompletions } from '../chat-completions/index.ts'
import { withResponses } from '../responses/index.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

/** @param apiVersion addresses deployments one by one; without it the unversioned API is used */
export function azureOpenaiChat (apiVersion?: string): Adapter<ChatInput, ChatEvent> {
  return {
    ...azureChat,
    request: input => {
      const request = azureChat.request(input)
      return { ...request, path: pathOf(request.path, input.route.model, apiVersion) }
    },
    deleteResponse: id => {
      const request = azureChat.deleteResponse(id)
      return { ...request, path: pathOf(request.path, '', apiVersion) }
    }
  }
}

const azureChat = withResponses(chatCompletions)

function pathOf (path: string, deployment: string, apiVersion: string | undefined): string {
  if (apiVersion === undefined) return `/openai/v1${path}`
  // The body of a response names the deployment.
  const isResponses = path.startsWith('/responses')
  const deploymentPath = isResponses ? path : `/deployments/${encodeURIComponent(deployment)}${path}`
  return `/openai${deploymentPath}?api-version=${encodeURIComponent(apiVersion)}`
}

/** @param options of the provider in the configuration, such as `api_version` */
export function azureOpenaiAdapters ({ api_version: version }: Readonly<Record<string, unknown>>): Adapters {
  return { chat: azureOpenaiChat(typeof version === 'string' ? version : undefined) }
}

/** Returns the credential: a key of the resource. */
export function azureOpenaiHeaders (key: string): Record<string, string> {
  return { 'api-key': key }
}
