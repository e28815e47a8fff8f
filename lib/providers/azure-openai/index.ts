/**
 * Azure OpenAI: the dialect at other addresses and with another credential header. The model is
 * the name of a deployment. Base URL: `https://<resource>.openai.azure.com`.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/reference
 */

import { chatCompletions } from '../chat-completions/index.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

/** @param apiVersion addresses deployments one by one; without it the unversioned API is used */
export function azureOpenaiChat (apiVersion?: string): Adapter<ChatInput, ChatEvent> {
  return {
    ...chatCompletions,
    request: ask => {
      const request = chatCompletions.request(ask)
      const path = apiVersion === undefined
        ? `/openai/v1${request.path}`
        : `/openai/deployments/${encodeURIComponent(ask.route.model)}${request.path}` +
          `?api-version=${encodeURIComponent(apiVersion)}`
      return { ...request, path }
    }
  }
}

/** @param options of the provider in the configuration, such as `api_version` */
export function azureOpenaiAdapters ({ api_version: version }: Readonly<Record<string, unknown>>): Adapters {
  return { chat: azureOpenaiChat(typeof version === 'string' ? version : undefined) }
}

/** Returns the credential: a key of the resource. */
export function azureOpenaiHeaders (key: string): Record<string, string> {
  return { 'api-key': key }
}
