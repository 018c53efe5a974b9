"""Where answers come from: providers, prompts, the sampling runner, the human study."""
