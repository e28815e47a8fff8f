/** Inspects texts with a service of the operator, in one of two formats. */

import { randomUUID } from 'node:crypto'
import { callFacts } from './call-facts.ts'
import { projectNamesOf } from '../core/key.ts'
import { isObject, withoutNulls, type JsonObject } from '../json/type-guards.ts'
import { signWebhook } from '../wire/sign-webhook.ts'
import { judgeClient } from './judge-client.ts'
import type { RoutedCall } from '../core/call.ts'
import type { GuardSettings } from '../core/settings.ts'
import type { Judge, TextAtPoint, Verdict } from '../guards/text-judge.ts'
import type { WebhookFormat } from '../../schemas/config/guards.ts'

interface Form {
  readonly request: (
    texts: readonly TextAtPoint[],
    call: RoutedCall<unknown>,
    guard: Pick<GuardSettings, 'name' | 'options'>
  ) => object
  /** @throws TypeError for an invalid answer */
  readonly verdict: (answer: JsonObject) => Verdict
}

const forms: Readonly<Record<WebhookFormat, Form>> = {
  headgate: {
    request: (texts, call, { name, options }) => ({
      version: 1,
      stage: name,
      ...options !== undefined && { options },
      call: callFacts(call),
      texts: texts.map(({ point, text }) => ({ point, text }))
    }),
    verdict: answer => {
      // many services print what they leave out as null
      const { refuse, texts, findings } = withoutNulls(answer)
      if (refuse !== undefined && typeof refuse !== 'string') throw new TypeError('`refuse` must be a string')
      if (findings !== undefined && !(Number.isSafeInteger(findings) && Number(findings) >= 0)) {
        throw new TypeError('`findings` must be a whole number, 0 or more')
      }
      return {
        ...refuse !== undefined && { refusal: refuse },
        ...texts !== undefined && { texts: listOfTexts(texts) },
        ...findings !== undefined && { findings: Number(findings) }
      }
    }
  },
  // https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api
  litellm: {
    request: (texts, { id, key, routes }, { options = {} }) => {
      const [project, projectName] = projectNamesOf(key)
      return {
        texts: texts.map(({ text }) => text),
        input_type: texts.some(({ point }) => point === 'answer' || point === 'tool_call')
          ? 'response'
          : 'request',
        litellm_call_id: id,
        model: routes[0].modelId,
        request_data: {
          user_api_key_hash: key.id,
          user_api_key_alias: key.name,
          user_api_key_team_id: project,
          user_api_key_team_alias: projectName
        },
        additional_provider_specific_params: options
      }
    },
    verdict: ({ action, texts, blocked_reason: reason }) => {
      switch (action) {
        case 'NONE': return {}
        case 'BLOCKED': return { refusal: typeof reason === 'string' ? reason : '' }
        case 'GUARDRAIL_INTERVENED': return { texts: listOfTexts(texts) }
        default: throw new TypeError('`action` must be BLOCKED, NONE or GUARDRAIL_INTERVENED')
      }
    }
  }
}

/** @throws Error for settings without a URL, which validation excludes */
export function openWebhook (settings: GuardSettings): Judge {
  const { url = '', format = 'headgate', secret } = settings
  const client = judgeClient(url, settings)
  const { request, verdict } = forms[format]
  return {
    inspect: async (texts, { call, signal }) => {
      const inspected = { keyId: call.key.id, signal }
      const answer = await client.post('', request(texts, call, settings), inspected, body =>
        signWebhook({ id: `msg_${randomUUID()}`, sentAtMs: Date.now(), body }, secret))
      if (!isObject(answer)) throw new TypeError('the answer of the service is not a JSON object')
      return verdict(answer)
    },
    close: client.close
  }
}

function listOfTexts (texts: unknown): readonly string[] {
  if (!Array.isArray(texts)) throw new TypeError('`texts` must be a list')
  return texts as readonly string[] // checked by whoever applies the verdict
}
