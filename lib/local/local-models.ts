import { localPrograms } from './programs.ts'
import { otherUpstreamApi } from '../providers/kinds.ts'
import type { ModelEntry } from '../core/model.ts'

/** Lists the models of the local engine that the installed programs support: `ocr`, `tts`, both or none. */
export async function localModels (providerId: string): Promise<ModelEntry[]> {
  const { tesseract, espeak } = await localPrograms()
  const models: ModelEntry[] = []
  if (tesseract !== undefined) {
    models.push({
      ...common(providerId, 'ocr'),
      displayName: 'Local OCR (tesseract)',
      description: 'Reads PDFs and images with the programs of this machine. No network, no cost, no tables.',
      upstreamApi: otherUpstreamApi,
      capabilities: { text: true, vision: true }
    })
  }
  if (espeak !== undefined) {
    models.push({
      ...common(providerId, 'tts'),
      displayName: 'Local speech (eSpeak NG)',
      description:
        'Speaks wav and pcm with a program of this machine; the voice is a language. No network, no cost.',
      upstreamApi: 'openai/audio/speech',
      capabilities: { audio: true }
    })
  }
  return models
}

function common (
  providerId: string,
  model: string
): Pick<ModelEntry, 'id' | 'providerId' | 'model' | 'status' | 'price'> {
  return {
    id: `${providerId}/${model}`,
    providerId,
    model,
    status: 'enabled',
    price: { input: 0, output: 0, asOf: '2026-01-01' }
  }
}
