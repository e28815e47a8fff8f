/**
 * Levels of reasoning effort, from none to maximum. A model lists those it accepts in its trait `efforts`.
 */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = typeof efforts[number]
