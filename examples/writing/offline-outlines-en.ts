// Outline templates by kind of topic, in English; see offline-outlines-zh.ts.
import type { Kind } from './offline-outlines.ts'

export const kindsEn: readonly Kind[] = [
  {
    name: 'comparison',
    words: /\b(?:vs\.?|versus|compared?|comparison|difference|or)\b/i,
    title: '{}: how to choose',
    sections: [
      [
        'What is being compared',
        'Before two things are weighed they have to lie on the same scale.',
        ['what each side is made for', 'the yardstick used here', 'terms that are easily confused'],
      ],
      [
        'Common ground',
        'Differences make sense only against what is shared.',
        ['the problem both of them solve', 'habits that carry over', 'cases where either will do'],
      ],
      [
        'Differences that matter',
        'Few differences change a decision; these do.',
        ['what each side can do', 'what each side costs', 'the effort of learning and upkeep'],
      ],
      [
        'Making the choice',
        'There is no best answer, only a fitting one.',
        ['situations that favour the first', 'situations that favour the second', 'a small trial before deciding'],
      ],
    ],
  },
  {
    name: 'guide',
    words: /\bhow\b|\bguide\b|\btutorial\b|\bstep by step\b|\bbeginners?\b|\blearn(?:ing)?\b/i,
    title: '{}, step by step',
    sections: [
      [
        'Before you start',
        'Good preparation makes every later step easier.',
        ['the result to aim for', 'the things to have at hand', 'the time it takes'],
      ],
      [
        'Doing it',
        'The whole is a handful of steps, taken one at a time.',
        ['the first step and how to check it', 'the part that takes most care', 'the finishing touches'],
      ],
      [
        'What goes wrong',
        'Detours that others have taken need not be taken again.',
        ['the usual beginner mistakes', 'the order in which to look for faults', 'the signs that it is time to stop'],
      ],
      [
        'Getting better',
        'Once it works, it can work well.',
        ['habits worth keeping', 'small tricks that save effort', 'the next thing to learn'],
      ],
    ],
  },
  {
    name: 'history',
    words: /\bhistory\b|\borigins?\b|\bevolution\b|\brise of\b|\bcentur(?:y|ies)\b|\bpast\b/i,
    title: '{}: where it came from',
    sections: [
      [
        'Beginnings',
        'Most histories begin somewhere inconspicuous.',
        ['the earliest records', 'the world it appeared in', 'its first form'],
      ],
      [
        'Turning points',
        'Change tends to crowd into a few moments.',
        ['the people who pushed it forward', 'the pull of technology and law', 'the roads that led nowhere'],
      ],
      [
        'How it spread',
        'What survives has been chosen again by every generation.',
        ['differences from place to place', 'traces in everyday life', 'what was kept and what was lost'],
      ],
      [
        'Today',
        'Looking back is a way of seeing the present.',
        ['its present shape', 'the questions still argued over', 'threads worth following'],
      ],
    ],
  },
  {
    name: 'journey',
    words: /\b(?:travel(?:ling)?|trip|journey|tour|itinerary|holiday|vacation|hiking|weekend in)\b/i,
    title: '{}: before and along the way',
    sections: [
      [
        'Before leaving',
        'A good journey begins a week before the door closes.',
        ['the right season', 'budget and bookings', 'papers and luggage'],
      ],
      [
        'The route',
        'One stop fewer is better than one stop too many.',
        ['the places not to miss', 'the pace of a day', 'getting around'],
      ],
      [
        'Table and bed',
        'Whoever sleeps and eats well has half the journey done.',
        ['the part of town to stay in', 'where the locals go', 'tastes and restrictions'],
      ],
      [
        'On the road',
        'Surprises will come; preparation turns them into stories.',
        ['weather and safety', 'manners and customs', 'another plan for a bad day'],
      ],
    ],
  },
  {
    name: 'proposal',
    words: /\b(?:plan|proposal|strategy|roadmap|budget|campaign|pitch)\b/i,
    title: '{}: a draft',
    sections: [
      ['Background and goal', 'Why comes before how.', ['where things stand', 'the goal', 'how success is measured']],
      [
        'The work',
        'It should be concrete enough for somebody to begin tomorrow.',
        ['the main pieces of work', 'who does what', 'the schedule'],
      ],
      [
        'Cost and risk',
        'A decision stands when its price is in the open.',
        ['people and money', 'what could go wrong', 'the way back'],
      ],
      [
        'Next steps',
        'The worth of a plan is that somebody acts on it.',
        ['decisions to be made', 'the first week', 'the day to look back'],
      ],
    ],
  },
  {
    name: 'taste',
    words: /\b(?:tea|coffee|wine|beer|bread|cheese|food|cuisine|dish|cake|soup|noodles?|chocolate|recipe)s?\b/i,
    title: '{}: what is in the cup and on the plate',
    sections: [
      [
        'Where it comes from',
        'A taste has an address, and usually a story.',
        ['its home and its legends', 'the name', 'its place in the day'],
      ],
      [
        'How it is made',
        'Good taste is patience, and a few moments that decide.',
        ['choosing what goes in', 'the steps that matter', 'heat and time'],
      ],
      [
        'How it tastes',
        'First the nose, then the tongue, the verdict last.',
        ['layers of scent', 'texture from first to last', 'what lingers and what goes with it'],
      ],
      [
        'Enjoying it',
        'The best way is in good company at the right hour.',
        ['vessels and temperature', 'a first choice for beginners', 'keeping it and its season'],
      ],
    ],
  },
  {
    name: 'technology',
    words:
      /\b(?:ai|a2a|apis?|agents?|software|systems?|protocols?|algorithms?|data|networks?|models?|programming|code|cloud|robots?|chips?|solar|battery|batteries|energy|power)\b/i,
    title: '{}: how it works and where it ends',
    sections: [
      [
        'The problem it solves',
        'A technology is worth knowing for the trouble it saves.',
        ['life without it', 'where it is used', 'who gains from it'],
      ],
      [
        'How it works',
        'The main line is enough to understand the rest.',
        ['the central ideas', 'one complete pass through it', 'its neighbours'],
      ],
      [
        'Putting it to use',
        'The smallest thing that runs is the best beginning.',
        ['the smallest start', 'fitting it to what is there', 'telling whether it helps'],
      ],
      [
        'Limits and risks',
        'Knowing what it cannot do is part of using it well.',
        ['known limits', 'safety and privacy', 'what may change'],
      ],
    ],
  },
  {
    name: 'idea',
    words: /(?:)/,
    title: 'Understanding {}',
    sections: [
      [
        'What it is',
        'A subject is best met by saying plainly what it is.',
        ['the meaning of {}', 'what it is often confused with', 'an example close to home'],
      ],
      [
        'Why it matters',
        'Whether something matters shows in whom it touches.',
        ['what it changes for a person', 'what it changes for others', 'common misunderstandings'],
      ],
      [
        'Ways to see it',
        'Seen from several sides, the outline becomes clear.',
        ['the parts it is made of', 'reasons for and against', 'claims that can be checked'],
      ],
      [
        'What comes next',
        'Once it is clear, something can be done.',
        ['one thing to do at once', 'changes worth watching', 'where to read on'],
      ],
    ],
  },
]
