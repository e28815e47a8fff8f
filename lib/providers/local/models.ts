import { localPrograms } from './programs.ts'
import type { ModelEntry } from '../../models/models.ts'

/** What the local engine can do with the programs there are: `ocr`, or nothing. */
export async function localModels (providerId: string): Promise<ModelEntry[]> {
  const { tesseract } = await localPrograms()
  if (tesseract === undefined) return []
  return [{
    id: `${providerId}/ocr`,
    providerId,
    model: 'ocr',
    displayName: 'Local OCR (tesseract)',
    description: 'Reads PDFs and images with the programs of this machine. No network, no cost, no tables.',
    status: 'enabled',
    upstreamApi: 'openai-compatible',
    capabilities: { text: true, vision: true },
    price: { input: 0, output: 0, asOf: '2026-01-01' },
    traits: { ocr: true }
  }]
}
