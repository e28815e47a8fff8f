import type { StageAction, StagePoint } from '../../schemas/config/stages.ts'

/** What a stage found in the texts of a call: never the text itself. */
export interface Finding {
  readonly stage: string
  readonly point: StagePoint
  readonly action: StageAction
  count: number
}

/** The findings of one call, added up. */
export class StageFindings {
  readonly #list: Finding[] = []

  note (stage: string, point: StagePoint, action: StageAction): void {
    const known = this.#list.find(
      finding => finding.stage === stage && finding.point === point && finding.action === action
    )
    if (known === undefined) this.#list.push({ stage, point, action, count: 1 })
    else known.count++
  }

  get list (): readonly Finding[] {
    return this.#list
  }
}
