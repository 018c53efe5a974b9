"""Run the battery: tests of how a respondent determines where a person looks."""
