/** POST /embeddings: vectors computed from the words and letters of a text, without a model. */

import { randomUUID } from 'node:crypto'
import { base64Of } from '../embeddings/read-vector.ts'
import { inputsOf } from '../embeddings/input.ts'
import { readJsonBody } from './read-json-body.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { property } from '../json/type-guards.ts'
import { applyDirectives } from './apply-directives.ts'
import { readDirectives, withoutDirectives } from './directives.ts'
import { embeddingModel } from './sandbox-models.ts'
import { hash } from './random.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { jsonTextScript, type Script } from './script.ts'
import { countTokens } from './tokens.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import type { SandboxOptions } from './options.ts'
import type { SendOptions, UpstreamRequest } from '../providers/provider.ts'

/** The rest of a long text counts as one feature, to limit the work. */
const readCharacters = 2000

interface EmbeddingsBody extends Pick<EmbeddingsRequest, 'input' | 'encoding_format' | 'dimensions'> {
  readonly model: string
}

/**
 * Returns unit vectors that behave like those of a model: equal texts have equal vectors, texts that share
 * words are close, and a shorter vector is the start of the longer one. Directives (see `directives`) are
 * read from the last text.
 *
 * @throws SandboxRefusal 404 for another model; 400 for too many dimensions or tokens, and for unsupported
 *   directives; the signal's reason
 */
export async function embeddings (
  request: UpstreamRequest, _options: SandboxOptions, { signal }: Pick<SendOptions, 'signal'>
): Promise<Script> {
  const {
    model,
    input,
    encoding_format: form,
    dimensions = embeddingModel.dimensions
  } = await readBody(request)
  const name = model.replace(/^sandbox\//, '')
  if (name !== embeddingModel.name) {
    throw new SandboxRefusal(
      404,
      `The model '${name}' makes no embeddings. Available model: ${embeddingModel.name}.`,
      {
        code: 'model_not_found',
        param: 'model'
      }
    )
  }
  if (dimensions > embeddingModel.dimensions) {
    throw new SandboxRefusal(400, `Vectors have ${embeddingModel.dimensions} dimensions at most.`, {
      param: 'dimensions'
    })
  }
  const texts = inputsOf(input).map(one =>
    typeof one === 'string' ? one : one.map(token => `<${token}>`).join(' ')
  )
  const tokens = texts.map(countTokens)
  if (tokens.some(count => count > embeddingModel.inputTokenLimit)) {
    throw new SandboxRefusal(400, `Inputs have ${embeddingModel.inputTokenLimit} tokens at most.`, {
      code: 'context_length_exceeded', param: 'input'
    })
  }
  const data: string[] = []
  for (const [index, text] of texts.entries()) {
    if (index > 0) await yieldFairly() // all 2048 at once would hold up other calls for tenths of a second
    signal.throwIfAborted()
    const vector = vectorOf(withoutDirectives(text), dimensions)
    data.push(
      JSON.stringify({
        object: 'embedding',
        index,
        embedding: form === 'base64' ? base64Of(vector) : vector
      })
    )
  }
  const total = tokens.reduce((sum, count) => sum + count, 0)
  const usage = JSON.stringify({ prompt_tokens: total, total_tokens: total })
  const script = jsonTextScript(
    200,
    `{"object":"list","data":[${data.join()}],"model":${JSON.stringify(model)},"usage":${usage}}`,
    {
      'x-request-id': `req_${randomUUID()}`
    }
  )
  return applyDirectives(script, readDirectives(texts.at(-1) ?? '', name, 1), false)
}

/** Every word and every three letters in a row push one dimension up or down. */
function vectorOf (text: string, dimensions: number): number[] {
  const vector = Array.from({ length: embeddingModel.dimensions }, () => 0)
  const push = (feature: string, weight: number): void => {
    const bits = hash(feature)
    const at = bits % vector.length
    vector[at] = (vector[at] ?? 0) + (bits >>> 31 === 0 ? weight : -weight)
  }
  const read = text.slice(0, readCharacters).toLowerCase()
  for (const word of read.match(/[\p{L}\p{N}]+/gu) ?? []) push(`word ${word}`, 1)
  for (let at = 0; at + 3 <= read.length; at++) push(read.slice(at, at + 3), 0.3)
  // Never nothing at all, not even in the shortest vector of a text without letters.
  vector[0] = (vector[0] ?? 0) + 0.1 + hash(text) / 2 ** 40
  return normalised(vector.slice(0, dimensions))
}

/** Scales the vector to length one, its numbers rounded as those of models are. */
function normalised (vector: readonly number[]): number[] {
  const length = Math.hypot(...vector)
  return vector.map(number => Number((number / length).toPrecision(8)))
}

async function readBody ({ body }: UpstreamRequest): Promise<EmbeddingsBody> {
  const value = await readJsonBody(body)
  if (property(value, 'input') === undefined || property(value, 'model') === undefined) {
    throw new SandboxRefusal(400, 'The body needs a model and an input.', { param: 'input' })
  }
  return value as EmbeddingsBody // the adapter writes it out of a request that was validated
}
